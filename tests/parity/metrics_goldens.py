"""Writes tests/metrics/goldens.json: metrics of scikit-learn and scipy, as GLUE in `evaluate` uses
them, for predictions and labels that are committed beside the values. NaN is written as null.

Usage: metrics_goldens.py [OUTPUT]
"""

import json
import math
import pathlib
import sys
import warnings
from fractions import Fraction

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, mean_squared_error

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)


def single(name, classes, predictions, labels):
    values = {
        "accuracy": accuracy_score(labels, predictions),
        "f1_macro": f1_score(labels, predictions, average="macro"),
        "matthews_correlation": matthews_corrcoef(labels, predictions),
    }
    if classes == 2:
        values["f1"] = f1_score(labels, predictions)
    return case(name, "single_label", classes, predictions, labels, values)


def exact_pearson(x, y):
    """Of the doubles as they are; scipy's own rounding is 1e-8 where they lie far from zero."""
    x, y = [Fraction(v) for v in x], [Fraction(v) for v in y]
    dx = [v - sum(x) / len(x) for v in x]
    dy = [v - sum(y) / len(y) for v in y]
    dot = lambda a, b: sum(p * q for p, q in zip(a, b))
    return math.copysign(math.sqrt(dot(dx, dy) ** 2 / (dot(dx, dx) * dot(dy, dy))), dot(dx, dy))


def scores(name, predictions, labels, pearson=lambda x, y: pearsonr(x, y)[0]):
    values = {
        "pearson": pearson(predictions, labels),
        "spearmanr": spearmanr(predictions, labels)[0],
        "mse": mean_squared_error(labels, predictions),
    }
    return case(name, "regression", 1, predictions, labels, values)


def multi(name, predictions, labels):
    values = {
        "f1_micro": f1_score(labels, predictions, average="micro"),
        "subset_accuracy": accuracy_score(labels, predictions),
    }
    return case(name, "multi_label", labels.shape[1], predictions, labels, values)


def case(name, problem, classes, predictions, labels, values):
    values = {k: None if math.isnan(v) else float(v) for k, v in values.items()}
    listed = lambda a: np.asarray(a).astype(int if problem != "regression" else float).tolist()
    return {"name": name, "problem": problem, "classes": classes, "values": values,
            "predictions": listed(predictions), "labels": listed(labels)}


def cases():
    two = lambda n: rng.integers(0, 2, n)
    noisy = lambda y, k: np.where(rng.random(len(y)) < 0.3, rng.integers(0, k, len(y)), y)
    y = two(97)
    yield single("binary", 2, noisy(y, 2), y)
    yield single("one row right", 2, np.array([1]), np.array([1]))
    yield single("one row wrong", 2, np.array([0]), np.array([1]))
    yield single("constant predictions", 2, np.zeros(20, int), two(20))
    yield single("constant labels", 2, two(20), np.ones(20, int))
    yield single("all negative", 2, np.zeros(5, int), np.zeros(5, int))
    yield single("all wrong", 2, 1 - y, y)
    z = rng.integers(0, 5, 120)
    yield single("five classes", 5, noisy(z, 5), z)
    yield single("classes that never occur", 9, noisy(z, 5) + 2, z + 1)
    yield single("constant predictions of many", 5, np.full(30, 3), rng.integers(0, 5, 30))
    s = rng.integers(0, 26, 80) / 5
    yield scores("scores with ties", s + rng.normal(0, 0.8, 80), s)
    yield scores("ties on both sides", np.round(s + rng.normal(0, 1, 80)), s)
    yield scores("far from zero", s * 1e-6 + 1e6, s, exact_pearson)
    yield scores("tiny", s * 1e-170, s)
    yield scores("two rows", [1.0, 2.0], [3.0, -1.0])
    yield scores("constant predictions", np.full(6, 2.5), np.arange(6.0))
    yield scores("constant labels", np.arange(6.0), np.full(6, 0.1))
    m = rng.random((40, 6)) < 0.3
    yield multi("multi-label", m ^ (rng.random((40, 6)) < 0.15), m)
    yield multi("nothing predicted", np.zeros((7, 3), bool), np.ones((7, 3), bool))
    yield multi("nothing at all", np.zeros((7, 3), bool), np.zeros((7, 3), bool))


if __name__ == "__main__":
    default = pathlib.Path(__file__).parent.parent / "metrics" / "goldens.json"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    rows = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases())
    output.write_text(f"[\n{rows}\n]\n")
    print(f"wrote {output}")
