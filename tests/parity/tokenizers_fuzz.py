#!/usr/bin/env python3
"""Differential fuzzing: random tokenizers and random texts, hone against `tokenizers`.

    python tests/parity/tokenizers_fuzz.py [--first SEED] [--seeds N] [--texts N]

Every difference names its seed; `--first SEED --seeds 1` runs it again.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import tokenizers_made as made
from tokenizers_common import differences, reference, run_driver


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--keep", help="folder for the tokenizers that differ")
    args = parser.parse_args()
    bad, refused, errors, total = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        for seed in range(args.first, args.first + args.seeds):
            try:
                tokenizer = made.make(seed)
                inputs = made.inputs(seed, args.texts)
                theirs = reference(tokenizer, inputs)
            except BaseException as error:  # panics of the package are no Exception
                print(f"seed {seed}: tokenizers gave up: {str(error)[:100]}")
                continue
            path.write_text(tokenizer.to_str())
            try:
                ours = run_driver(path, inputs)
            except RuntimeError as error:
                refused += 1
                print(f"seed {seed}: refused: {error}")
                continue
            found = differences(inputs, ours, theirs, 1)
            errors += sum(isinstance(r, str) for r in theirs)
            total += len(inputs)
            if found:
                bad += found
                parts = tokenizer.to_str()
                print(f"seed {seed}: {found} differ; {parts[:parts.index('model') - 2][:1500]}")
                if args.keep:
                    Path(args.keep, f"{seed}.json").write_text(tokenizer.to_str())
    print(f"{total} texts, {errors} errors on both sides, {refused} tokenizers refused, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
