#!/usr/bin/env python3
"""Compares hone's tokenizers with `tokenizers` on whole data sets and a nasty corpus.

    python tests/parity/tokenizers_compare.py [--quick] [TOKENIZER...]

A TOKENIZER is a folder or a tokenizer.json; without any, those under HONE_DATA/tokenizers. The
reference is the tokenizer.json itself, or what `transformers` makes of a folder without one.
Ids, tokens, type ids, offsets and the special-tokens mask must be equal. Exit code 1 otherwise.
"""
import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tokenizers import Tokenizer

import tokenizers_nasty as nasty
from tokenizers_common import CORPORA, DATA, corpus, differences, reference, run_driver

FAMILIES = {"vocab.txt": "BertTokenizer", "vocab.json": "RobertaTokenizer",
            "spiece.model": "AlbertTokenizer", "sentencepiece.bpe.model": "XLMRobertaTokenizer"}


def load_reference(path):
    path = Path(path)
    if path.is_dir() and not (path / "tokenizer.json").exists():
        import transformers
        name = next(cls for file, cls in FAMILIES.items() if (path / file).exists())
        tokenizer = getattr(transformers, name).from_pretrained(str(path)).backend_tokenizer
    else:
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json" if path.is_dir() else path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def default_tokenizers(scratch):
    """Those of HONE_DATA, BERT's also from its vocab.txt alone, and XLM-R's way of reading
    SentencePiece on ALBERT's pieces, for want of its own."""
    found = sorted((DATA / "tokenizers").glob("*"))
    for name, source, file in (("bert-vocab", "bert-base-uncased/vocab.txt", "vocab.txt"),
                               ("xlm-roberta", "albert/spiece.model", "sentencepiece.bpe.model")):
        folder = scratch / name
        folder.mkdir()
        shutil.copy(DATA / "tokenizers" / source, folder / file)
        found.append(folder)
    return found


def compare(path, tokenizer, name, inputs, flags=(), special=True):
    bad, step = 0, 2000
    for at in range(0, len(inputs), step):
        part = inputs[at:at + step]
        bad += differences(part, run_driver(path, part, flags), reference(tokenizer, part, special))
    print(f"  {name}: {len(inputs)} inputs, {bad} differ", flush=True)
    return bad


def truncation_cases(path, tokenizer, inputs):
    bad = 0
    singles = [i for i in inputs if not isinstance(i, tuple)]
    doubles = [i for i in inputs if isinstance(i, tuple)]
    for length in (4, 5, 8, 13, 64):
        for strategy in ("longest_first", "only_first", "only_second"):
            for direction in ("right", "left"):
                for special in (True, False):
                    tokenizer.enable_truncation(length, strategy=strategy, direction=direction)
                    flags = ["--max-length", length, "--strategy", strategy]
                    flags += ["--left"] if direction == "left" else []
                    flags += [] if special else ["--no-special"]
                    name = f"truncation {length} {strategy} {direction} special={special}"
                    chosen = doubles + ([] if strategy == "only_second" else singles)
                    bad += compare(path, tokenizer, name, chosen, flags, special)
    tokenizer.no_truncation()
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizers", nargs="*")
    parser.add_argument("--quick", action="store_true", help="the first 1,000 inputs of each data set")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in args.tokenizers or default_tokenizers(Path(scratch)):
            print(f"{path}", flush=True)
            tokenizer = load_reference(path)
            for name in CORPORA:
                inputs = corpus(name)
                bad += compare(path, tokenizer, name, inputs[:1000] if args.quick else inputs)
            texts = nasty.texts(count=2_000 if args.quick else 20_000)
            pairs = nasty.pairs(count=300 if args.quick else 3_000)
            bad += compare(path, tokenizer, "nasty texts", texts)
            bad += compare(path, tokenizer, "nasty pairs", pairs)
            bad += compare(path, tokenizer, "nasty without special tokens", texts[:3000] + pairs,
                           ["--no-special"], False)
            bad += truncation_cases(path, tokenizer, pairs[:200] + texts[:200])
    print("all equal" if not bad else f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
