"""hone.Model: answers, arrays, threads, forks."""
import gc
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import hone
from folders import CLASSIFIER, PROGRAM, SENTENCES, TEXTS


@pytest.fixture(scope="module")
def model():
    return hone.Model(CLASSIFIER, device="cpu", threads=2)


@pytest.fixture(scope="module")
def embedder():
    return hone.Model(SENTENCES, device="cpu", threads=2)


def program(*words, **options):
    """What the installed command prints."""
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True,
                          timeout=60, **options).stdout


def test_answers_are_those_of_the_program(model):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    printed = program("predict", "--model", CLASSIFIER, "--format", "jsonl", "--raw", input=lines)
    answers = model.predict(TEXTS)
    assert len(answers) == len(TEXTS)
    for answer, line in zip(answers, printed.splitlines()):
        expected = json.loads(line)
        assert answer.label == expected["label"]
        assert answer.score == pytest.approx(expected["score"], abs=1e-6)
        assert answer.scores == pytest.approx(expected["scores"], abs=1e-6)
        assert answer.logits == pytest.approx(expected["logits"], abs=1e-5)
        assert (answer.tokens, answer.truncated) == (expected["tokens"], expected["truncated"])
        assert answer.layers == 0 and answer.labels == []
    assert [answer.truncated for answer in answers] == [False, False, False, True, False]


def test_one_text_gives_one_answer_and_many_give_a_list(model):
    assert model.predict("the film is great") == model.predict(["the film is great"])[0]
    assert model.predict([]) == []
    assert model.predict(text for text in TEXTS) == model.predict(TEXTS)
    assert model.predict(np.array(TEXTS)) == model.predict(TEXTS)


def test_a_tuple_is_a_pair(model):
    pair = ("the film", "is great")
    assert model.predict(pair) == model.predict([pair])[0]
    assert model.predict(pair) != model.predict("the film is great")
    mixed = model.predict(["the film is great", pair])
    assert mixed == [model.predict("the film is great"), model.predict(pair)]
    with pytest.raises(TypeError, match="texts: expected a str or a pair of them, got 3"):
        model.predict([3])


def test_labels_of_a_multi_label_model(multi_label):
    answer = hone.Model(multi_label, device="cpu").predict("the film is great")
    assert answer.labels == [label for label, score in answer.scores.items() if score >= 0.5]
    assert sum(answer.scores.values()) != pytest.approx(1)


def test_too_long_a_text_is_cut_or_refused(model):
    with pytest.raises(hone.Error, match="an input of .* tokens is longer than the limit of"):
        model.predict(TEXTS, truncate=False)
    assert hone.Model(CLASSIFIER, device="cpu", max_length=3).predict("the film is").truncated


def test_vectors_are_rows_of_one_array_that_owns_what_the_model_wrote(embedder):
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), embedder.width)
    assert vectors.flags.c_contiguous and vectors.base is not None and not vectors.flags.owndata
    for text, row in zip(TEXTS, vectors):
        np.testing.assert_array_equal(embedder.embed(text), row)
    assert embedder.embed([]).shape == (0, embedder.width)


def test_an_array_outlives_its_model():
    model = hone.Model(SENTENCES, device="cpu")
    vectors = model.embed(TEXTS)
    kept = vectors.copy()
    del model
    gc.collect()
    np.testing.assert_array_equal(vectors, kept)
    vectors += 1  # it may be written
    assert not np.array_equal(vectors, kept)


def test_poolings_and_lengths(embedder):
    tokens = embedder.embed_tokens("the film is great")
    assert tokens.shape == (len(embedder.tokenize("the film is great").ids), embedder.width)
    for pooling, expected in (("mean", tokens.mean(0)), ("cls", tokens[0]), ("max", tokens.max(0))):
        other = hone.Model(SENTENCES, device="cpu", pooling=pooling, normalize=False)
        np.testing.assert_allclose(other.embed("the film is great"), expected, atol=1e-6)
    unit = hone.Model(SENTENCES, device="cpu", normalize=True).embed(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)


def test_tokens(model):
    tokens = model.tokenize("the film")
    assert tokens.tokens == ["[CLS]", "the", "film", "[SEP]"]
    assert tokens.offsets[1:3] == [(0, 3), (4, 8)]
    assert len(tokens.ids) == 4 and tokens.type_ids == [0, 0, 0, 0]
    assert model.tokenize(["the film", ("the", "film")])[1].type_ids == [0, 0, 0, 1, 1]


def test_what_a_model_is(model, embedder):
    assert model.labels == ["negative", "positive"] and model.use == "predict"
    assert embedder.use == "embed" and model.folder == str(CLASSIFIER)
    assert model.max_length == 24 and model.width == 2


def test_dtypes_have_their_names_and_those_of_pytorch(model):
    expected = model.predict("the film is great").score
    for dtype in ("bf16", "bfloat16", "torch.bfloat16", "int8", "float32"):
        score = hone.Model(CLASSIFIER, device="cpu", dtype=dtype).predict("the film is great").score
        assert score == pytest.approx(expected, abs=0.02)


def test_a_budget_gives_the_same_answers(model):
    bounded = hone.Model(CLASSIFIER, device="cpu", memory_budget="2GB")
    assert bounded.predict(TEXTS) == model.predict(TEXTS)


def test_threads_get_their_own_answers(model):
    texts = [" ".join(["film", "great", "not"][: 1 + i % 3]) + " the" * (i % 7) for i in range(200)]
    expected = model.predict(texts)
    wrong = []

    def ask(first):
        for begin in range(first, 160, 8):
            if model.predict(texts[begin:begin + 32]) != expected[begin:begin + 32]:
                wrong.append(begin)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_while_a_model_computes(model):
    """Without the lock free, the other thread would stand still until the answers are there."""
    ticks = 0
    asked = threading.Thread(target=lambda: model.predict(["the film is great"] * 30_000))
    asked.start()
    while asked.is_alive():
        ticks += 1
        asked.join(0.001)
    assert ticks > 20


def test_a_closed_model_says_so():
    with hone.Model(CLASSIFIER, device="cpu") as model:
        model.predict("the film")
    with pytest.raises(hone.Error, match="model: was closed"):
        model.predict("the film")
    model.close()


def test_a_model_that_is_closed_while_it_is_asked_answers_or_fails():
    model = hone.Model(CLASSIFIER, device="cpu", threads=1)
    errors = []

    def ask():
        try:
            model.predict(["the film is great"] * 200_000)
        except hone.Error as error:
            errors.append(str(error))

    asked = threading.Thread(target=ask)
    asked.start()
    asked.join(0.2)
    model.close()
    asked.join()
    assert errors in ([], ["the model was closed before it answered"], ["the model was closed"])


def test_a_forked_process_has_no_model_and_may_load_one(model):
    model.predict("the film")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            model.predict("the film")
        except hone.Error as error:
            if "loaded before this process was forked" in str(error):
                other = hone.Model(CLASSIFIER, device="cpu", threads=2)
                code = 0 if len(other.predict(TEXTS)) == len(TEXTS) else 2
                other.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.predict("the film").tokens == 4


def test_a_process_ends_quietly_while_a_thread_asks():
    code = f"""
import threading, hone
model = hone.Model({str(CLASSIFIER)!r}, device="cpu")
texts = ["the film is great"] * 3_000_000
threading.Thread(target=model.predict, args=(texts,), daemon=True).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_numpy_is_loaded_on_first_use_alone():
    code = f"""
import sys, hone
model = hone.Model({str(CLASSIFIER)!r}, device="cpu")
model.predict("the film"), model.tokenize("the film")
assert "numpy" not in sys.modules
hone.Model({str(SENTENCES)!r}, device="cpu").embed("the film")
assert "numpy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
