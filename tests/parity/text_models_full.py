#!/usr/bin/env python3
"""The full comparison of the tokeniser models with Hugging Face `tokenizers`: RoBERTa's BPE and
ALBERT's Unigram and charsmap over all texts of the data folder, every code point, and random
vocabularies. Writes goldens to a scratch folder and runs text_test on them.

usage: text_models_full.py --data DIR --test build/text_test [--seeds N] [--imdb N]
"""
import argparse
import glob
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile

import text_models_goldens as goldens
from sentencepiece import sentencepiece_model_pb2
from tokenizers import models, pre_tokenizers

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def texts(data, imdb):
    """Every line of the data sets, as it stands in the files."""
    for path in sorted(glob.glob(f"{data}/glue/*/*.tsv") + glob.glob(f"{data}/trec/*.txt")
                       + glob.glob(f"{data}/subj/*.5000") + glob.glob(f"{data}/sst_trees/*.txt")):
        with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from (line.rstrip("\n") for line in lines)
    for path in sorted(glob.glob(f"{data}/imdb/*.xz")):
        with lzma.open(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from (line.rstrip("\n") for line in itertools.islice(lines, imdb))


def nasty_texts(count):
    rng = random.Random(7)
    for size in [24] * count + [2000] * 5:
        yield goldens.nasty_text(rng, size)


def every_code_point():
    for start in range(0, len(CODES), 64):
        codes = [chr(c) for c in CODES[start : start + 64]]
        yield "".join(codes)
        yield "".join("a" + c for c in codes)
        yield "".join("1 " + c for c in codes)
        yield "".join("." + c + c + " " for c in codes)


def write_byte_bpe(out, data, imdb):
    with open(f"{data}/tokenizers/roberta/vocab.json", encoding="utf-8") as file:
        vocab = json.load(file)
    with open(f"{data}/tokenizers/roberta/merges.txt", encoding="utf-8") as file:
        lines = (line.rstrip("\n") for line in file if not line.startswith("#version"))
        merges = [line.split(" ") for line in lines if line]
    tokenizer = goldens.byte_bpe_tokenizer(models.BPE(vocab, [tuple(m) for m in merges]))
    goldens.write(out, {"kind": "bpe", "vocab": vocab, "merges": merges})
    words = ["a" * (1 << 20), "ab" * (1 << 19), "\u00e9\u4e2d" * (1 << 18), "." * (1 << 20)]
    for text in itertools.chain(texts(data, imdb), nasty_texts(2000), every_code_point(), words):
        goldens.write(out, goldens.byte_bpe_case(tokenizer, text))


def write_byte_level(out, data, imdb):
    pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    goldens.write(out, {"kind": "byte_level"})
    for text in itertools.chain(every_code_point(), nasty_texts(20000)):
        goldens.write(out, goldens.byte_level_case(pre_tokenizer, text))


def albert(data):
    model = sentencepiece_model_pb2.ModelProto()
    with open(f"{data}/tokenizers/albert/spiece.model", "rb") as file:
        model.ParseFromString(file.read())
    return model


def write_unigram(out, data, imdb):
    proto = albert(data)
    pieces = [[p.piece, p.score] for p in proto.pieces]
    unk_id = proto.trainer_spec.unk_id
    model = models.Unigram([tuple(p) for p in pieces], unk_id, False)
    goldens.write(out, {"kind": "unigram", "pieces": pieces, "unk_id": unk_id,
                        "byte_fallback": False})
    seen = set()
    for text in itertools.chain(texts(data, imdb), nasty_texts(2000), every_code_point()):
        for word in text.split(" "):
            for form in {"\u2581" + word, "\u2581" + word.lower()}:
                if form not in seen:
                    seen.add(form)
                    goldens.write(out, {"text": form, "pieces": goldens.pieces(model, form)})
    for text in itertools.chain(itertools.islice(texts(data, imdb), 0, None, 50),
                                ["a" * (1 << 20), "the" * (1 << 18), "\u4e2d" * (1 << 18)]):
        form = "\u2581" + text.lower().replace(" ", "\u2581")
        goldens.write(out, {"text": form, "pieces": goldens.pieces(model, form)})


def write_charsmap(out, data, imdb):
    blob = albert(data).normalizer_spec.precompiled_charsmap
    tokenizer = goldens.charsmap_tokenizer(blob)
    goldens.write(out, {"kind": "charsmap", "blob": blob.hex()})
    marks = "\u0301\u0308\u3099\u200d\u0903\u094d\u0600\ufe0f"
    pairs = ("".join(chr(c) + mark for c in CODES[start : start + 64])
             for start in range(0, 0x20000, 64) for mark in marks)
    for text in itertools.chain(every_code_point(), pairs, nasty_texts(20000),
                                itertools.islice(texts(data, imdb), 0, None, 20)):
        goldens.write(out, goldens.charsmap_case(tokenizer, text))


def run(test, folder, tests, label):
    environment = {**os.environ, "HONE_TEXT_GOLDENS": folder}
    result = subprocess.run([test, "--gtest_brief=1", f"--gtest_filter={tests}"], text=True,
                            env=environment, stdout=subprocess.PIPE, check=False)
    cases = sum(1 for path in glob.glob(f"{folder}/*.jsonl") for _ in open(path, "rb"))
    print(f"{label}: {cases} cases, {'equal' if result.returncode == 0 else 'DIFFERENT'}",
          flush=True)
    if result.returncode != 0:
        print(result.stdout[-3000:])
    return result.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--imdb", type=int, default=None, help="reviews a file; all by default")
    args = parser.parse_args()
    failures = 0
    corpora = {"byte_bpe": ("BpeGolden.ByteLevel*", write_byte_bpe),
               "unigram": ("UnigramGolden.*", write_unigram),
               "charsmap": ("CharsMapGolden.*", write_charsmap),
               "byte_level": ("ByteLevelGolden.*", write_byte_level)}
    for name, (tests, writer) in corpora.items():
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/{name}.jsonl", "w", encoding="ascii") as out:
                writer(out, args.data, args.imdb)
            failures += run(args.test, folder, tests, name) != 0
    for seed in range(100, 100 + args.seeds):
        with tempfile.TemporaryDirectory() as folder:
            for kind, writer in goldens.WRITERS.items():
                with open(f"{folder}/{kind}.jsonl", "w", encoding="ascii") as out:
                    writer(out, random.Random(seed), 500)
            failures += run(args.test, folder, "*Golden*", f"random {seed}") != 0
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
