"""What a client's program knows of the server that it asks, and how it compares answers.

The runner (run.py) writes a file that HONE_SERVED names: addresses, models, texts, and what `hone
predict --raw` and `hone embed` say of them. Values are equal where they have the same bits as
float32.
"""
import json
import os

import numpy as np

with open(os.environ["HONE_SERVED"]) as file:
    SERVED = json.load(file)
URL = SERVED["url"]  # of the classifier's server, without a slash at its end
EMBED_URL = SERVED["embed_url"]
CLASSIFIER = SERVED["classifier"]
EMBEDDERS = SERVED["embedders"]
EMBEDDER = EMBEDDERS[0]  # what EMBED_URL serves
TEXTS = SERVED["texts"]
LABELS = SERVED["labels"]
SCORES = SERVED["scores"]  # [text][label], in the order of LABELS
LOGITS = SERVED["logits"]
SCALED = SERVED["scaled"]  # [model][text], vectors of length 1
PLAIN = SERVED["plain"]  # [model][text], as the folder says
VECTORS = SCALED[EMBEDDER]
RANKS = SERVED["ranks"]  # [text], the logit of the model "ranker" for TEXTS[0] and the text


def same(got, expected, what):
    """Fails unless both hold the same bits as float32, element for element."""
    got = np.asarray(got, dtype=np.float64).astype(np.float32)
    expected = np.asarray(expected, dtype=np.float64).astype(np.float32)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    differ = np.flatnonzero((got.view(np.uint32) != expected.view(np.uint32)).ravel())
    assert differ.size == 0, (f"{what}: {differ.size} values differ, the first is "
                              f"{got.ravel()[differ[0]]!r}, expected {expected.ravel()[differ[0]]!r}")


def same_labels(got, text, what):
    """`got` is [(label, score)] of TEXTS[text], all labels, the best first."""
    assert [score for _, score in got] == sorted([s for _, s in got], reverse=True), f"{what}: order"
    by_label = dict(got)
    assert sorted(by_label) == sorted(LABELS), f"{what}: labels {sorted(by_label)}"
    same([by_label[label] for label in LABELS], SCORES[text], what)


def done(compared):
    """The last line of a program is what the runner shows."""
    print(compared)
