"""hone.pipeline beside transformers.pipeline, on the same folders, in all shapes."""
import pytest
import transformers

import hone
from folders import CLASSIFIER, GOLDENS, changed_config

TEXTS = ["the film is great", "The MOVIE was not good", "great great", "the"]
PAIR = {"text": "the film", "text_pair": "is great"}
LONG = "film " * 40


def same(ours, theirs, tolerance=1e-5):
    """Fails where shapes, keys, labels or numbers differ."""
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other, tolerance)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key], tolerance)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=tolerance, rel=tolerance)
    else:
        assert ours == theirs


def folder_of(name, tmp_path):
    if name == "multi-label":
        return changed_config(CLASSIFIER, tmp_path / name, problem_type="multi_label_classification")
    if name == "one-label":
        return changed_config(GOLDENS / "roberta-regression", tmp_path / name, problem_type=None)
    return GOLDENS / name


@pytest.mark.parametrize("made", [{}, {"top_k": None}, {"function_to_apply": "none", "top_k": 2}],
                         ids=["plain", "all", "raw"])
@pytest.mark.parametrize("name", ["bert-words", "albert-groups", "roberta-regression", "multi-label",
                                  "one-label"])
def test_text_classification(name, made, tmp_path):
    folder = folder_of(name, tmp_path)
    # The folder's tokenizer class leaves out the types that tokenizer.json gives the texts of a pair.
    types = {"return_token_type_ids": True} if name == "albert-groups" else {}
    theirs = transformers.pipeline("text-classification", model=str(folder), device="cpu", **made, **types)
    ours = hone.pipeline("text-classification", model=folder, device="cpu", **made)
    for inputs in (TEXTS[0], TEXTS, PAIR, [PAIR, PAIR], [TEXTS[0]]):
        for called in ({}, {"top_k": None}, {"top_k": 1}, {"top_k": 2}, {"batch_size": 2},
                       {"function_to_apply": "sigmoid"}, {"function_to_apply": "softmax"},
                       {"function_to_apply": "none"}):
            same(ours(inputs, **called), theirs(inputs, **called))
    same(list(ours(text for text in TEXTS)), list(theirs(text for text in TEXTS)))
    same(ours([[["the film", "is great"]]]), theirs([[["the film", "is great"]]]))


def test_truncation():
    theirs = transformers.pipeline("text-classification", model=str(CLASSIFIER), device="cpu")
    ours = hone.pipeline("text-classification", model=CLASSIFIER, device="cpu")
    same(ours([LONG, TEXTS[0]], truncation=True),
         theirs([LONG, TEXTS[0]], truncation=True, max_length=ours.model.max_length))
    for pipe in (ours, theirs):
        with pytest.raises(Exception):
            pipe(LONG, truncation=False)
    for pipe in (ours, theirs):
        with pytest.raises(ValueError):
            pipe([["the film", "is great"]])


@pytest.mark.parametrize("name", ["bert-words", "sentence-distilbert-cls"])
def test_feature_extraction(name):
    theirs = transformers.pipeline("feature-extraction", model=str(GOLDENS / name), device="cpu")
    ours = hone.pipeline("feature-extraction", model=GOLDENS / name, device="cpu")
    for inputs in (TEXTS[0], TEXTS):
        same(ours(inputs), theirs(inputs), 1e-4)


def test_callbacks_of_transformers_are_heard(own_data):
    class Enough(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            control.should_training_stop = state.global_step >= 2
            return control

    assert hone.train(**own_data, callbacks=[Enough()]).global_step == 2
