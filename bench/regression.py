#!/usr/bin/env python3
"""Compares two builds of hone on one device and fails where the new one is slower beyond a limit.

    bench/regression.py --base HONE_A --new HONE_B [--device cuda|cpu] [--cases PARTS] [--rounds 5]
                        [--seconds 1] [--limit 1.05] [--itself]

Cases are those of `hone bench`: on a GPU RoBERTa-base in bf16, on a processor BERT-base and MiniLM
in fp32. Each build runs a case once to warm up, on a GPU also to tune its products into a file,
which its rounds then use. A round is one run of each, in turns
(A B, B A, ...), so that a drift of the machine falls on both; a case's figure is the median of the
rounds' ratios, and its spread the smallest and the largest. With --itself a round also runs the base once
more: what it loses against itself is allowed beyond the limit. Exit code 1 on a loss, 2 on a build
that fails.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

CASES = {
    "cuda": ["train-roberta-base-sst2-b32", "train-roberta-base-b32-len128",
             "train-roberta-base-b32-len512", "roberta-base-b1-len32", "roberta-base-sst2-b128",
             "roberta-base-b128-len128"],
    "cpu": ["minilm-b1-len32", "minilm-b1-len128", "minilm-sst2-b32", "bert-base-b1-len32",
            "bert-base-b1-len128", "bert-base-sst2-b32", "train-minilm-sst2-b32",
            "train-minilm-b32-len128", "train-bert-base-b8-len128"],
}
LIMIT = 1.05


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="the hone to compare with")
    parser.add_argument("--new", required=True, help="the hone that is judged")
    parser.add_argument("--device", choices=CASES, default="cuda")
    parser.add_argument("--cases", help="parts of names, comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of timed rounds a run")
    parser.add_argument("--limit", type=float, default=LIMIT, help="the ratio that is no loss yet")
    parser.add_argument("--itself", action="store_true", help="run the base twice a round")
    options = parser.parse_args(words)
    if options.rounds < 1:
        parser.error("--rounds: expected at least 1")
    options.chosen = [case for case in CASES[options.device] if not options.cases
                      or any(part in case for part in options.cases.split(","))]
    if not options.chosen:
        parser.error(f"--cases: none has a part of {options.cases!r} in its name")
    return options


def judge(pairs, limit=LIMIT):
    """Of (base, new) times, a pair a round: the median ratio, its spread, and whether it is a loss."""
    ratios = [new / base for base, new in pairs]
    middle = statistics.median(ratios)
    return {"ratio": middle, "least": min(ratios), "most": max(ratios), "lost": middle > limit}


def time_case(hone, case, device, tuning, seconds):
    command = [hone, "bench", case, "--device", device, "--seconds", str(seconds), "--json"]
    if device == "cuda":
        command += ["--dtype", "bf16", "--tuning", tuning]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return json.loads(done.stdout)["median_ms"]


def compare(options, case, folder):
    sides = {"base": options.base, "new": options.new}
    if options.itself:
        sides["itself"] = options.base

    def run(side, seconds):
        return time_case(sides[side], case, options.device, f"{folder}/{side}-{case}.tuning", seconds)

    for side in sides:
        run(side, 1)
    rounds = []
    for number in range(options.rounds):
        order = list(sides) if number % 2 == 0 else list(reversed(sides))
        rounds.append({side: run(side, options.seconds) for side in order})
    return rounds


def main(words=None):
    options = arguments(words)
    lost = False
    print("| case | base ms | new ms | new / base | spread | itself / base | |\n"
          "|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in options.chosen:
            rounds = compare(options, case, folder)
            pairs = [(times["base"], times["new"]) for times in rounds]
            noise = 1.0
            if options.itself:
                noise = statistics.median(times["itself"] / times["base"] for times in rounds)
            result = judge(pairs, options.limit + max(0, noise - 1))
            itself = format(noise, ".3f") if options.itself else ""
            lost |= result["lost"]
            base, new = (statistics.median(side) for side in zip(*pairs))
            print(f"| {case} | {base:.3f} | {new:.3f} | {result['ratio']:.3f} | "
                  f"{result['least']:.3f} to {result['most']:.3f} | {itself} | "
                  f"{'LOSS' if result['lost'] else 'ok'} |", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
