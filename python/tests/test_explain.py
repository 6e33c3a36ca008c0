"""hone.Model.explain: why a text gets its label."""
import json
import os
import subprocess

import pytest

import hone
from folders import CLASSIFIER, PROGRAM, SENTENCES, TEXTS

ROWS = ["label,text", "positive,the film was very good", "negative,the very bad plot was dull",
        "positive,a story is great", "negative,it was not a good film"]
TREES = ["(S (NP the film) (VP was (AP very good)))", "(S (NP the (AP very bad) plot) (VP was dull))",
         "(S (NP a story) (VP is great))", "(S it (VP was not (NP a (AP good) film)))"]


@pytest.fixture(scope="module")
def model():
    return hone.Model(CLASSIFIER, device="cpu", threads=2)


def test_gradients_are_those_of_the_program(model):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    printed = subprocess.run(
        [PROGRAM, "explain", "--model", CLASSIFIER, "--method", "ig", "--format", "jsonl"], input=lines,
        check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    for found, line in zip(model.explain(TEXTS), printed, strict=True):
        expected = json.loads(line)
        assert found.label == expected["label"] and found.truncated == expected["truncated"]
        assert found.scores == pytest.approx(expected["scores"], abs=1e-6)
        words = expected.get("phrases", [])
        assert [tuple(word) for word in found.phrases] == [
            (word["text"], word["start"], word["end"], pytest.approx(word["share"], abs=1e-5), None, None)
            for word in words]
    one = model.explain(TEXTS[0])
    assert one == model.explain(TEXTS)[0] and one.shares is None and one.concepts == []
    assert model.explain(TEXTS[0], steps=1) != one
    assert model.explain([]) == []


def test_own_reasons(tmp_path):
    (tmp_path / "rows.csv").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "trees.txt").write_text("\n".join(TREES) + "\n")
    hone.train(model=CLASSIFIER, train_file=tmp_path / "rows.csv", validation_file=tmp_path / "rows.csv",
               output_dir=tmp_path / "out", explain=True, trees=[tmp_path / "trees.txt"],
               explain_neighbours=2, num_train_epochs=300, learning_rate=3e-3,
               lr_scheduler_type="constant", eval_strategy="no", save_strategy="no", quiet=True, device="cpu")
    model = hone.Model(tmp_path / "out", device="cpu", threads=2)
    texts = [row.split(",")[1] for row in ROWS[1:]]
    found = next(each for each in model.explain(texts, ablate=1, concepts=1) if each.phrases)
    assert model.explain(texts)[0].scores == model.predict(texts)[0].scores
    assert sum(phrase.share for phrase in found.phrases) == pytest.approx(found.shares.phrases, abs=1e-5)
    assert found.phrases[0].ablated_score is not None and found.phrases[0].flips in (True, False)
    assert len(found.concepts) == 1 and found.concepts[0].labels and found.tree.startswith("(")


def test_mistakes_are_named(model):
    with pytest.raises(hone.Error, match="reasons: .* was not trained to explain itself"):
        model.explain("a", reasons="own")
    with pytest.raises(hone.Error, match="reasons: expected one of auto, own, gradients, got 'lime'"):
        model.explain("a", reasons="lime")
    with pytest.raises(TypeError, match="texts: expected a str"):
        model.explain([("a", "pair")])
    with pytest.raises(hone.Error, match="has no classification head"):
        hone.Model(SENTENCES, device="cpu").explain("a")
    closed = hone.Model(CLASSIFIER, device="cpu")
    closed.close()
    with pytest.raises(hone.Error, match="closed"):
        closed.explain("a")


def test_a_fork_says_so(model):
    model.explain("a")
    child = os.fork()
    if child == 0:
        try:
            model._explainer.explain(["a"], reasons="auto", steps=1, ablate=0, concepts=-1)
        except hone.Error as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
