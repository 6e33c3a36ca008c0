"""Every program of docs/python.md runs as it stands."""
import importlib.metadata
import os
import re
import subprocess
import sys

import pytest

from folders import CLASSIFIER, IMAGES, RESNET, ROOT, SENTENCES

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [(f"{page}-{i}", block) for page in ("docs/python.md", "docs/coming-from-trainer.md", "python/README.md")
            for i, block in enumerate(FENCE.findall((ROOT / page).read_text()))]


@pytest.mark.parametrize("program", [block for _, block in PROGRAMS], ids=[name for name, _ in PROGRAMS])
def test_program(program, own_data, tmp_path):
    (tmp_path / "DIR").symlink_to(CLASSIFIER)
    (tmp_path / "SENTENCES").symlink_to(SENTENCES)
    (tmp_path / "RESNET").symlink_to(RESNET)
    (tmp_path / "photo.jpg").symlink_to(IMAGES / "rgb.jpg")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=120,
                          capture_output=True, text=True, env={**os.environ, "HONE_CUDA_PLUGIN": ""})
    assert done.returncode == 0, program + done.stderr


def test_the_pages_name_the_wheels_tag():
    wheel = importlib.metadata.distribution("hone").read_text("WHEEL")
    for page in ("docs/python.md", "docs/install.md"):
        named = set(re.findall(r"manylinux_\d+_\d+", (ROOT / page).read_text()))
        assert named and named <= set(re.findall(r"manylinux_\d+_\d+", wheel)), page


def test_there_are_programs():
    assert len(PROGRAMS) >= 8
