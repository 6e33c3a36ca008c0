"""mypy --strict accepts the package and a user's code, and finds that user's mistakes."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def mypy(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
                           "--cache-dir", "/dev/null", *words],
                          capture_output=True, text=True, cwd="/", timeout=300)
    return done.stdout + done.stderr


def test_the_package_and_a_sample():
    assert mypy("-p", "hone") == ""
    assert mypy(str(HERE / "typed_sample.py")) == ""


def test_mistakes_are_found():
    file = HERE / "typed_wrong.py"
    marked = {i for i, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# wrong")}
    found = {int(line) for line in re.findall(r"typed_wrong\.py:(\d+): error", mypy(str(file)))}
    assert found == marked
