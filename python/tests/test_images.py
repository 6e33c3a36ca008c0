"""hone.Model with a model of images."""
import json
import subprocess

import numpy as np
import pytest

import hone
from folders import CLASSIFIER, IMAGES, PROGRAM, RESNET

FILES = [IMAGES / name for name in ("rgb.jpg", "rgba.png", "lossy.webp")]


@pytest.fixture(scope="module")
def model():
    return hone.Model(RESNET, device="cpu", threads=2)


def test_answers_are_those_of_the_program(model):
    printed = subprocess.run([PROGRAM, "predict", "--model", RESNET, "--input", "-", "--raw"],
                             input="".join(f"{file}\n" for file in FILES), check=True,
                             capture_output=True, text=True, timeout=60).stdout.splitlines()
    answers = model.predict_images(FILES)
    assert len(answers) == len(printed) == len(FILES)
    for answer, line in zip(answers, printed):
        expected = json.loads(line)
        assert answer.label == expected["label"]
        assert answer.scores == pytest.approx(expected["scores"], abs=1e-6)
        assert answer.logits == pytest.approx(expected["logits"], abs=1e-5)
        assert (answer.width, answer.height) == (expected["width"], expected["height"])


def test_arrays_are_images(model):
    pixels = np.random.default_rng(1).integers(0, 256, (29, 35, 3), dtype=np.uint8)
    one = model.predict_images(pixels)
    assert (one.width, one.height) == (35, 29)
    assert model.predict_images([pixels, str(FILES[0])])[0] == one
    assert model.predict_images(np.stack([pixels] * 70)) == [one] * 70
    assert model.predict_images(np.asfortranarray(pixels)) == one
    assert model.predict_images([]) == []
    vectors = hone.Model(RESNET, device="cpu", use="embed").embed_images([pixels, FILES[1]])
    assert vectors.shape == (2, 13) and vectors.dtype == np.float32
    assert vectors.any()


def test_what_is_no_image_is_an_error(model, tmp_path):
    for wrong in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), 3):
        with pytest.raises(hone.Error, match="images: expected paths, or arrays of uint8"):
            model.predict_images([wrong])
    with pytest.raises(hone.Error, match="none.jpg"):
        model.predict_images(tmp_path / "none.jpg")
    with pytest.raises(hone.Error, match="is a model of images"):
        model.predict("a text")
    with pytest.raises(hone.Error, match="is a model of texts"):
        hone.Model(CLASSIFIER, device="cpu").predict_images(FILES)
