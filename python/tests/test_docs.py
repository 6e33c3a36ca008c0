"""Every program of docs/python.md runs as it stands."""
import os
import re
import subprocess
import sys

import pytest

from folders import CLASSIFIER, ROOT, SENTENCES

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [(f"{page}-{i}", block) for page in ("docs/python.md", "docs/coming-from-trainer.md", "python/README.md")
            for i, block in enumerate(FENCE.findall((ROOT / page).read_text()))]


@pytest.mark.parametrize("program", [block for _, block in PROGRAMS], ids=[name for name, _ in PROGRAMS])
def test_program(program, own_data, tmp_path):
    (tmp_path / "DIR").symlink_to(CLASSIFIER)
    (tmp_path / "SENTENCES").symlink_to(SENTENCES)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=120,
                          capture_output=True, text=True, env={**os.environ, "HONE_CUDA_PLUGIN": ""})
    assert done.returncode == 0, program + done.stderr


def test_there_are_programs():
    assert len(PROGRAMS) >= 8
