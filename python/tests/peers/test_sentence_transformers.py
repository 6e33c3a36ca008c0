"""hone.Model.embed beside SentenceTransformer.encode, on the same folders."""
import numpy as np
import pytest
import sentence_transformers

import hone
from folders import GOLDENS, TEXTS


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["sentence-bert-mean", "sentence-distilbert-cls"])
def test_vectors(name, normalize):
    theirs = sentence_transformers.SentenceTransformer(str(GOLDENS / name), device="cpu")
    ours = hone.Model(GOLDENS / name, device="cpu", normalize=normalize or None)
    for texts in (TEXTS, TEXTS[0]):
        expected = theirs.encode(texts, normalize_embeddings=normalize)
        got = ours.embed(texts)
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got, expected, atol=1e-5)
    assert ours.max_length == theirs.max_seq_length


def test_pairs_of_a_cross_encoder():
    theirs = sentence_transformers.CrossEncoder(str(GOLDENS / "bert-words"), device="cpu")
    ours = hone.Model(GOLDENS / "bert-words", device="cpu")
    pairs = [("the film", "is great"), ("the MOVIE", "was not good")]
    expected = theirs.predict(pairs, activation_fn=None, convert_to_numpy=True)
    got = np.array([answer.logits for answer in ours.predict(pairs)])
    np.testing.assert_allclose(got, expected, atol=1e-5)
