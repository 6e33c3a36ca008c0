"""hone.pipeline's shapes; tests/peers holds them to transformers' own."""
import math

import pytest

import hone
from folders import CLASSIFIER, SENTENCES, changed_config


@pytest.fixture(scope="module")
def pipe():
    return hone.pipeline("text-classification", model=CLASSIFIER, device=-1)


def test_shapes(pipe):
    one = {"label": "negative", "score": pytest.approx(0.947, abs=1e-3)}
    assert pipe("the film is great") == [one]
    assert pipe(["the film is great"]) == [one]
    assert pipe({"text": "the film is great"}) == one
    assert pipe("the film is great", top_k=1) == [one]
    assert [each["label"] for each in pipe("the film is great", top_k=None)] == ["negative", "positive"]
    assert pipe(["the film is great"] * 2, top_k=1) == [[one], [one]]
    assert list(pipe((text for text in ["the film is great"] * 5), batch_size=2)) == [one] * 5
    assert pipe([]) == []


def test_pairs(pipe):
    pair = {"text": "the film", "text_pair": "is great"}
    assert pipe(pair) == pipe([pair])[0] == pipe([[["the film", "is great"]]])[0]
    with pytest.raises(ValueError, match="inputs: expected a str, or a pair"):
        pipe([["the film", "is great"]])


def test_functions(pipe):
    logits = pipe.model.predict("the film").logits
    raw = pipe("the film", function_to_apply="none", top_k=None)
    assert [each["score"] for each in raw] == sorted(logits, reverse=True)
    sigmoid = pipe("the film", function_to_apply="SIGMOID")[0]["score"]
    assert sigmoid == pytest.approx(1 / (1 + math.exp(-max(logits))))
    with pytest.raises(ValueError, match="function_to_apply: expected sigmoid, softmax or none"):
        pipe("the film", function_to_apply="cosine")


def test_a_single_label_without_a_problem_type_is_a_probability(tmp_path):
    regression = CLASSIFIER.parent / "roberta-regression"
    value = hone.pipeline("text-classification", model=regression)("the film")[0]["score"]
    unnamed = changed_config(regression, tmp_path / "unnamed", problem_type=None)
    probability = hone.pipeline("text-classification", model=unnamed)("the film")[0]["score"]
    assert probability == pytest.approx(1 / (1 + math.exp(-value)))


def test_options(pipe):
    with pytest.raises(ValueError, match="task: expected one of text-classification"):
        hone.pipeline("translation", model=CLASSIFIER)
    with pytest.raises(hone.Error, match="longer than the limit"):
        pipe("film " * 40, truncation=False)
    assert pipe("film " * 40, truncation=True, padding=True) == pipe("film " * 40)
    shared = hone.pipeline("sentiment-analysis", model=pipe.model, top_k=None)
    assert shared.model is pipe.model and len(shared("the film")[0]) == 2
    with pytest.raises(TypeError, match="threads"):
        hone.pipeline("sentiment-analysis", model=pipe.model, threads=2)


def test_features():
    pipe = hone.pipeline("feature-extraction", model=SENTENCES)
    features = pipe("the film")
    assert len(features) == 1 and len(features[0]) == 4 and len(features[0][0]) == pipe.model.width
    assert pipe(["the film"]) == [features]
