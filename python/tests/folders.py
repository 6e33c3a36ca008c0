"""Folders that the tests share."""
import json
import pathlib
import shutil
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests/models/goldens"
CLASSIFIER = GOLDENS / "bert-words"
SENTENCES = GOLDENS / "sentence-bert-mean"
RESNET = ROOT / "tests/models/resnets/basic"
IMAGES = ROOT / "tests/image/goldens"
PROGRAM = pathlib.Path(sysconfig.get_path("scripts")) / "hone"  # the command that is installed
TEXTS = ["the film is great", "", "The MOVIE was not good", "film " * 40, "great great"]


def changed_config(folder: pathlib.Path, destination: pathlib.Path, **changes) -> pathlib.Path:
    """A copy of a model's folder with other fields in its config."""
    shutil.copytree(folder, destination)
    config = json.loads((destination / "config.json").read_text())
    config.update(changes)
    (destination / "config.json").write_text(json.dumps(config))
    return destination
