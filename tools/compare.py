#!/usr/bin/env python3
"""Compares hone with the Python packages that it must agree with (tests/parity).

    tools/compare.py [--pick K] [NAME...]

Without names all comparisons; --pick K takes about K of them, others on another commit
(tools/rotate.py). Packages that are missing are installed into .venv, programs are built. Those
that need the data sets (HONE_DATA, default ../shared/data) are left out where these are not there.
"""
import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time

import rotate

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT.parent / "shared/data"))
PYTHON = ROOT / ".venv/bin/python"
TORCH = ["torch==2.13.0", "transformers==5.*", "safetensors"]
TOKENIZED = ["bert-words", "roberta-regression", "albert-groups", "sentence-bert-mean",
             "sentence-distilbert-cls"]


@dataclasses.dataclass
class Comparison:
    packages: list  # as pip takes them
    targets: list  # that are built
    commands: list  # each a script of tests/parity and its arguments, or a program of the build
    data: bool = False


COMPARISONS = {
    **{f"model-{name}": Comparison(TORCH, ["hone"], [
        ["models_compare.py", "--roundtrip", f"tests/models/goldens/{name}"]])
       for name in TOKENIZED},
    "trained": Comparison(TORCH, ["hone"], [["trained_compare.py"]]),
    "lstm": Comparison(["torch==2.13.0", "safetensors"], ["hone"], [["lstm_compare.py"]]),
    "resnet": Comparison(TORCH + ["pillow"], ["hone"], [["resnet_compare.py"]]),
    "adapters": Comparison(TORCH + ["peft"], ["hone"], [["lora_parity.py"]]),
    "weight-files": Comparison(TORCH, ["io_test"], [["io_written.py"]]),
    "random-tokenizers": Comparison(["tokenizers"], ["tokenize_driver"], [
        ["tokenizers_fuzz.py", "--seeds", "100"]]),
    "tokenizers": Comparison(["transformers==5.*", "sentencepiece"], ["tokenize_driver"], [
        ["tokenizers_compare.py", "--quick"]], data=True),
    "tokenizer-models": Comparison(["tokenizers", "sentencepiece", "protobuf"], ["text_test"], [
        ["text_models_full.py", "--data", str(DATA), "--test", "build/text_test", "--seeds", "2",
         "--imdb", "100"]], data=True),
    "event-files": Comparison(["tensorboard"], ["train_test"], [
        ["build/train_test", "--gtest_filter=LogTest.TensorBoardReadsWhatTheLogSays"]]),
}


def missing_packages(packages):
    """Those of the packages that .venv does not have; versions are pip's affair."""
    code = ("import importlib.metadata as m, sys\n"
            "have = {d.metadata['Name'].lower() for d in m.distributions()}\n"
            "print(*[p for p in sys.argv[1:] if p.split('==')[0] not in have])")
    out = subprocess.run([PYTHON, "-c", code, *packages], check=True, capture_output=True, text=True)
    return out.stdout.split()


def install(packages):
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", ROOT / ".venv"], check=True)
    if missing := missing_packages(packages):
        print(f"== compare: installing {' '.join(missing)}", flush=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", *missing], check=True)


def run(name, comparison):
    install(comparison.packages)
    subprocess.run(["cmake", "--build", ROOT / "build", "--target", *comparison.targets],
                   check=True, stdout=subprocess.DEVNULL)
    settings = {**os.environ, "HF_HUB_OFFLINE": "1", "HONE_PYTHON": str(PYTHON),
                "TOKENIZE_DRIVER": str(ROOT / "build/tokenize_driver")}
    for command in comparison.commands:
        parity = ROOT / "tests/parity" / command[0]
        program = [PYTHON, parity] if parity.exists() else [ROOT / command[0]]
        if subprocess.run([*program, *command[1:]], cwd=ROOT, env=settings).returncode:
            return False
    return True


def choose(names, pick):
    if unknown := set(names) - set(COMPARISONS):
        sys.exit(f"compare: no {', '.join(sorted(unknown))}; there are {', '.join(COMPARISONS)}")
    chosen = list(names or COMPARISONS)
    if not DATA.is_dir():
        for name in [name for name in chosen if COMPARISONS[name].data]:
            print(f"compare: {name}: left out: no data sets in {DATA} (HONE_DATA)")
            chosen.remove(name)
    parts = max(1, len(chosen) // pick) if pick else 1
    return rotate.part_of(chosen, parts, rotate.turn(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pick", type=int, default=0, metavar="K", help="about K, in turn")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    failed = []
    for name in choose(args.names, args.pick):
        print(f"== compare: {name}", flush=True)
        begin = time.monotonic()
        if not run(name, COMPARISONS[name]):
            failed.append(name)
        print(f"== compare: {name}: {'FAILED' if name in failed else 'ok'}, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
    print(f"compare: {', '.join(failed) + ' FAILED' if failed else 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
