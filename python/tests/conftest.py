"""What the tests share. The package under test is the one that is installed."""
import os
import pathlib

import pytest

from folders import CLASSIFIER, changed_config

# What transformers and sentence-transformers say must not come from the network.
os.environ["HF_HUB_OFFLINE"] = "1"
# Their threads wait by spinning, which on a machine with other work takes minutes.
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture
def multi_label(tmp_path) -> pathlib.Path:
    return changed_config(CLASSIFIER, tmp_path / "multi-label",
                          problem_type="multi_label_classification")


@pytest.fixture
def own_data(tmp_path) -> dict:
    """A training file and a validation file, as hone.train takes them."""
    rows = "".join(f"the film is {'great' if i % 2 else 'not good'},{i % 2}\n" for i in range(32))
    for name in ("train.csv", "dev.csv"):
        (tmp_path / name).write_text("sentence,label\n" + rows)
    return {"model": CLASSIFIER, "train_file": tmp_path / "train.csv",
            "validation_file": tmp_path / "dev.csv", "output_dir": tmp_path / "out",
            "max_seq_length": 16, "quiet": True, "device": "cpu"}
