"""Writes what Python's own readers make of CSV text and of the real data sets:

tests/data/csv_goldens.json   rows of the csv module for generated, badly quoted text
tests/data/task_goldens.json  for every split of the real sets a count and a 64-bit FNV-1a hash of
                              all texts, pairs and labels (the sets themselves are not committed)

Usage: data_goldens.py [DATA]      DATA is the folder of the data sets (default HONE_DATA or
                                   ../shared/data beside the project)
"""

import csv
import io
import json
import lzma
import os
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "data"


def csv_cases(count):
    """Two-column text of hostile characters; what csv reads without an open quote at the end."""
    rng = random.Random(11)
    cases = []
    while len(cases) < count:
        body = "".join(rng.choices(['a', ',', '"', '""', '\n', '\r\n', ' ', 'é', '",', '\n"'],
                                   k=rng.randint(1, 24)))
        rows = [r for r in csv.reader(io.StringIO(body, newline="")) if r]
        if not rows or any(len(r) != 2 for r in rows) or is_open(body):
            continue
        cases.append({"text": "text,text_pair\n" + body, "rows": rows})
    return cases


def is_open(body):
    """A quote that is still open at the end swallows what follows it."""
    return list(csv.reader(io.StringIO(body + "\nmark", newline="")))[-1] != ["mark"]


def lines(path, encoding="utf-8"):
    opened = lzma.open(path, "rb") if path.suffix == ".xz" else open(path, "rb")
    with opened as f:
        text = f.read().decode(encoding)
    return text.removesuffix("\n").split("\n")


def tsv(path, text, pair, label):
    rows = csv.reader(lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    header = next(rows)
    at = lambda name: header.index(name) if name else None
    t, p, l = at(text), at(pair), at(label)
    return [(r[t], None if p is None else r[p], r[l]) for r in rows]


def cola(path):
    return [(r[3], None, r[1]) for r in csv.reader(lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)]


def trees(path):
    undo = lambda w: w.replace("-LRB-", "(").replace("-RRB-", ")").replace("\\/", "/").replace("\\*", "*")
    return [(" ".join(undo(w) for w in re.findall(r" ([^() ]+)\)", line)), None, line[1])
            for line in lines(path)]


def trec(path, fine):
    split = [line.split(" ", 1) for line in lines(path, "latin-1")]
    return [(text, None, label if fine else label.split(":")[0]) for label, text in split]


def subj(folder, validation):
    def decoded(line):
        try:
            return line.decode()
        except UnicodeDecodeError:
            return line.decode("latin-1")
    read = lambda name: [decoded(l) for l in (folder / name).read_bytes().removesuffix(b"\n").split(b"\n")]
    both = zip(read("plot.tok.gt9.5000"), read("quote.tok.gt9.5000"))
    return [(text, None, label) for i, pair in enumerate(both, 1) if (i % 10 == 0) == validation
            for text, label in zip(pair, ("objective", "subjective"))]


def fnv1a(records):
    value = 0xCBF29CE484222325
    for text, pair, label in records:
        joined = text + "\x1f" + ("" if pair is None else pair) + "\x1f" + label + "\x1e"
        for byte in joined.encode():
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def task_cases(data):
    glue = data / "glue"
    for split, name in (("train", "train"), ("validation", "dev")):
        yield "sst2", split, tsv(glue / f"SST-2/{name}.tsv", "sentence", None, "label")
        yield "cola", split, cola(glue / f"CoLA/{name}.tsv")
        yield "rte", split, tsv(glue / f"RTE/{name}.tsv", "sentence1", "sentence2", "label")
        yield "mrpc", split, tsv(glue / f"MRPC/{name}.tsv", "#1 String", "#2 String", "Quality")
        yield "stsb", split, tsv(glue / f"STS-B/{name}.tsv", "sentence1", "sentence2", "score")
        yield "sst5", split, trees(data / f"sst_trees/{name}.txt")
        yield "subj", split, subj(data / "subj", split == "validation")
    yield "qnli", "validation", tsv(glue / "QNLI/dev.tsv", "question", "sentence", "label")
    for split in ("train", "test"):
        yield "trec6", split, trec(data / f"trec/{split}.txt", False)
        yield "trec50", split, trec(data / f"trec/{split}.txt", True)
        yield "imdb", split, tsv(data / f"imdb/{split}.tsv.xz", "sentence", None, "label")


def write(path, cases):
    path.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    csv.field_size_limit(1 << 30)
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", ROOT.parent / "shared/data")
    write(TESTS / "csv_goldens.json", csv_cases(300))
    write(TESTS / "task_goldens.json",
          [{"task": task, "split": split, "rows": len(records), "hash": fnv1a(records)}
           for task, split, records in task_cases(pathlib.Path(given))])
