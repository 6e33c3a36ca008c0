#!/usr/bin/env python3
"""DP beside DDP on two devices, which are threads of a processor.

    bench/strategies.py [--hone FILE] [--rounds N] [--steps N]

MiniLM's shape with random weights, fp32: on one device, on two of one process (`--strategy dp`) and on
two ranks (`--nproc-per-node 2`), in turns; medians of the rounds. All three must have the same losses
before anything is timed. Prints a table.
"""
import argparse
import os
import pathlib
import statistics
import tempfile

from ddp import CASES, ROOT, command, losses, run_all, write_inputs

# Samples of a step and tokens of a sample: much and little work beside one set of gradients.
BATCHES = [(32, 128), (8, 32)]
WAYS = {"one device": (1, []),
        "DP, 2 devices": (2, ["--strategy", "dp", "--dp_devices", "2", "--threads", "2"]),
        "DDP, 2 ranks": (2, ["--nproc-per-node", "2"])}


def train(options, folder, way, batch, steps):
    devices, more = WAYS[way]
    words = command(options, folder, "out", batch // devices, steps, more)
    if "--threads" in more:  # in place of the one thread that others have
        at = words.index("--threads")
        del words[at:at + 2]
    return run_all([words])[0]


def check(options, folder, batch):
    found = {}
    for way in WAYS:
        train(options, folder, way, batch, 3)
        found[way] = losses(folder / "out")
    for way, values in found.items():
        apart = max(abs(a - b) for a, b in zip(values, found["one device"], strict=True))
        if apart > 1e-5:
            raise SystemExit(f"{way}: losses differ from those of one device by {apart}")


def measure(options, batch, length):
    rounds = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(folder, CASES["minilm"][0], length, options.steps * batch)
        check(options, folder, batch)
        for _ in range(options.rounds):
            for way in WAYS:
                rounds[way].append(train(options, folder, way, batch, options.steps))
    for way, runs in rounds.items():
        step = statistics.median(run["train_runtime"] for run in runs) / options.steps * 1e3
        gain = statistics.median(one["train_runtime"] / run["train_runtime"] for one, run in zip(rounds["one device"], runs))
        waits = [run["communication"]["exposed_seconds"] for run in runs if "communication" in run]
        waited = f"{statistics.median(waits) / options.steps * 1e3:.1f} ms" if waits else ""
        peak = statistics.median(run["memory_bytes"]["peak_resident"] for run in runs) / 1e6
        print(f"| {batch} x {length} | {way} | {step:.0f} ms | {gain:.2f} | {waited} | {peak:.0f} MB |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {options.rounds} rounds of {options.steps} steps\n\n"
          "| samples x tokens | | a step | times as fast | waits for sums | most memory of a process |\n"
          "|---|---|--:|--:|--:|--:|")
    for batch, length in BATCHES:
        measure(options, batch, length)


if __name__ == "__main__":
    main()
