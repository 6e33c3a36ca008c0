#!/usr/bin/env python3
"""hone predict over many lines, beside the bound that tokenising and computing set.

    bench/predict_rate.py [--hone build/hone] [--device cpu] [--dtype fp32] [--models minilm]
                          [--lines 1000000] [--rounds 3] [--threads N] [--output FILE]

Lines are SST-2's dev sentences, over and over; weights are random. A rate is that of a long file
less a short one, so that starting is left out. `hone tokenize` gives the rate of tokenising and
`hone bench` that of computing the same sentences' lengths. On a GPU the bound is the slower of the
two; on a processor, whose cores do both, it is the sum of their times. The three are measured in
turns. Exit code 1 where the median is below 0.9 of the bound.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from random_models import MODELS, ROOT, read_texts, write_model

LEAST = 0.9
CASES = {"cuda": "{}-sst2-b128", "cpu": "{}-sst2-b32"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build/hone")
    parser.add_argument("--device", choices=CASES, default="cpu")
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--models", default="minilm", help=f"of {','.join(MODELS)}")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="default: the cores there are")
    parser.add_argument("--output", type=pathlib.Path, help="a file for the page")
    return parser.parse_args()


class Rates:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        texts, self.source = read_texts()
        self.counts = options.lines // 8, options.lines
        for count in self.counts:
            copies = -(-count // len(texts))
            lines = (texts * copies)[:count]
            self.file(count).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def file(self, count):
        return self.scratch / f"{count}.txt"

    def threads(self):
        return ["--threads", str(self.options.threads)] if self.options.threads else []

    def of_lines(self, *command):
        """Lines a second of a command, of the long file less the short one."""
        seconds = []
        for count in self.counts:
            begin = time.monotonic()
            subprocess.run([self.options.hone, *command, "--input", self.file(count), "--output",
                            "/dev/null", "--quiet", *self.threads()], check=True)
            seconds.append(time.monotonic() - begin)
        return (self.counts[1] - self.counts[0]) / (seconds[1] - seconds[0])

    def of_computing(self, name, placed):
        lengths = self.scratch / f"{name}.lengths"
        if not lengths.exists():
            texts, _ = read_texts()
            file = self.scratch / "once.txt"
            file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
            ids = subprocess.run([self.options.hone, "tokenize", "--model", self.scratch / name,
                                  "--input", file], check=True, capture_output=True, text=True)
            lengths.write_text("".join(f"{len(json.loads(line)['ids'])}\n"
                                       for line in ids.stdout.splitlines()))
        case = CASES[self.options.device].format(name)
        made = subprocess.run([self.options.hone, "bench", case, "--lengths", lengths, "--json",
                               "--seconds", "2", *placed, *self.threads()], check=True,
                              capture_output=True, text=True)
        return json.loads(made.stdout)["per_second"]

    def measure(self, name):
        folder = self.scratch / name
        write_model(folder, MODELS[name])
        placed = ["--device", self.options.device, "--dtype", self.options.dtype]
        if self.options.device == "cuda":
            placed += ["--tuning", self.scratch / f"{name}.tuning"]
        self.of_computing(name, placed)  # finds the fastest products, where there is a choice
        rounds = []
        for _ in range(self.options.rounds):
            tokenising = self.of_lines("tokenize", "--model", folder)
            computing = self.of_computing(name, placed)
            predicting = self.of_lines("predict", "--model", folder, *placed)
            bound = (min(tokenising, computing) if self.options.device == "cuda"
                     else 1 / (1 / tokenising + 1 / computing))
            rounds.append({"tokenise": tokenising, "compute": computing, "predict": predicting,
                           "bound": bound, "share": predicting / bound})
            print(json.dumps({"model": name, **rounds[-1]}), flush=True)
        return {key: statistics.median(row[key] for row in rounds) for key in rounds[0]} | {
            "model": name, "shares": [row["share"] for row in rounds]}


def page(options, source, rows):
    cores = options.threads or len(os.sched_getaffinity(0))
    lines = ["# hone predict over many lines", "",
             f"{options.lines} lines of {source}, repeated; {options.device}, {options.dtype}, {cores} "
             f"threads; made by `bench/predict_rate.py {' '.join(sys.argv[1:])}`. Medians of "
             f"{options.rounds} rounds in turns; lines a second.", "",
             "| model | tokenising | computing | bound | hone predict | of the bound | rounds |",
             "|---|--:|--:|--:|--:|--:|---|"]
    for row in rows:
        shares = ", ".join(f"{share:.2f}" for share in row["shares"])
        lines.append(f"| {row['model']} | {row['tokenise']:.0f} | {row['compute']:.0f} "
                     f"| {row['bound']:.0f} | {row['predict']:.0f} | {row['share']:.2f} | {shares} |")
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        rates = Rates(options, pathlib.Path(scratch))
        rows = [rates.measure(name) for name in options.models.split(",")]
    text = page(options, rates.source, rows)
    print(text)
    if options.output:
        options.output.write_text(text)
    return 0 if all(row["share"] >= LEAST for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
