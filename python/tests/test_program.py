"""The command that the package brings, and where it looks for plugins."""
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import hone
from folders import CLASSIFIER, PROGRAM, ROOT
from hone import _plugins

MOST_BYTES = 8_000_000


def test_a_wheel_is_small():
    """The module and the program open one engine."""
    for wheel in (ROOT / "dist").glob("hone-*.whl"):
        assert wheel.stat().st_size <= MOST_BYTES, wheel


def test_version():
    printed = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True)
    assert printed.stdout.split()[1] == hone.__version__


def test_a_mistake_has_the_programs_exit_code():
    done = subprocess.run([PROGRAM, "predict", "--modle", "x"], capture_output=True, text=True)
    assert done.returncode == 2 and "did you mean --model?" in done.stderr


def test_ranks_are_the_program_again(own_data):
    """The program of the package finds itself, with the engine beside it."""
    words = [f"--{name}={value}" for name, value in own_data.items() if name != "quiet"]
    subprocess.run([PROGRAM, "train", *words, "--quiet", "--max_steps=2", "--nproc-per-node=2", "--threads=1"],
                   check=True, timeout=120, stdout=subprocess.DEVNULL)
    assert json.loads((own_data["output_dir"] / "all_results.json").read_text())["ranks"] == 2


def test_serve():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([PROGRAM, "serve", "--model", CLASSIFIER, "--hostname", "127.0.0.1",
                                "--port", str(port), "--quiet"], stderr=subprocess.DEVNULL)
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/predict",
                                         json.dumps({"inputs": "the film is great"}).encode(),
                                         {"Content-Type": "application/json"})
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    assert json.load(answer)[0]["label"] == "negative"
                break
            except ConnectionError:
                time.sleep(0.1)
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionError):
                    raise
                time.sleep(0.1)
        else:
            pytest.fail("hone serve did not answer")
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def fake_cuda(tmp_path, monkeypatch):
    """Packages with the places of hone-cuda and of NVIDIA's cuBLAS, and nothing that works."""
    for folder in ("hone_cuda", "nvidia/cublas/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "hone_cuda/__init__.py").touch()
    (tmp_path / "hone_cuda/libhone_cuda.so").write_text("no library")
    (tmp_path / "nvidia/cublas/lib/libcublasLt.so.12").touch()
    monkeypatch.syspath_prepend(tmp_path)
    # Both are put back behind the test, though code and not the test sets them.
    for name in ("HONE_CUDA_PLUGIN", "HONE_CUBLASLT"):
        monkeypatch.setenv(name, "")
        del os.environ[name]
    return tmp_path


def test_the_plugin_of_hone_cuda_is_found(fake_cuda):
    _plugins.point_to_cuda()
    assert os.environ["HONE_CUDA_PLUGIN"] == str(fake_cuda / "hone_cuda/libhone_cuda.so")
    assert os.environ["HONE_CUBLASLT"] == str(fake_cuda / "nvidia/cublas/lib/libcublasLt.so.12")
    printed = subprocess.run([PROGRAM, "info"], check=True, capture_output=True, text=True).stdout
    assert str(fake_cuda) in printed  # it says why that cannot be opened


def test_a_plugin_that_the_user_names_stays(fake_cuda):
    os.environ["HONE_CUDA_PLUGIN"] = "mine.so"
    os.environ["HONE_CUBLASLT"] = "my-cublaslt.so"
    _plugins.point_to_cuda()
    assert (os.environ["HONE_CUDA_PLUGIN"], os.environ["HONE_CUBLASLT"]) == (
        "mine.so", "my-cublaslt.so")
