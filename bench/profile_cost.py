#!/usr/bin/env python3
"""Measures what `hone profile` costs: a training run with and without it, in turns.

    bench/profile_cost.py --hone build/hone [--model DIR] [--data GLUE_DIR] [--rounds 5] [--steps 60]

A run trains on SST-2 with --data, else on the built-in reviews. `default` has the default window of
ten steps, `window` one over all steps. A figure is the median over rounds of the ratio of train
times, profiled over plain, of one round; the least and the largest stand beside it. The weights
must have the same bits in all runs.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def train(hone, words, output, profile=None):
    command = [hone] + (["profile", "--quiet", "--output", str(output / "profile")] + profile + ["--"]
                        if profile is not None else [])
    command += ["train", "--output_dir", str(output / "run"), "--save_strategy", "no", "--quiet",
                "--json"] + words
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    weights = (output / "run" / "model.safetensors").read_bytes()
    return json.loads(done.stdout.splitlines()[-1])["train_runtime"], hash(weights)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/hone")
    parser.add_argument("--model")
    parser.add_argument("--data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    words = ["--max_steps", str(options.steps), "--device", options.device, "--seed", "1",
             "--eval_strategy", "no", "--max_eval_samples", "8", "--max_train_samples", "4096"]
    words += ["--model", options.model] if options.model else []
    words += (["--task_name", "sst2", "--data", options.data] if options.data
              else ["--task_name", "reviews"])
    kinds = {"plain": None, "default": [], "window": ["--skip", "0", "--window", str(options.steps)]}
    ratios = {"default": [], "window": []}
    bits = set()
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds + 1):
            seconds = {}
            order = list(kinds) if turn % 2 == 0 else list(kinds)[::-1]
            for kind in order:
                output = pathlib.Path(folder) / f"{turn}-{kind}"
                seconds[kind], weights = train(options.hone, words, output, kinds[kind])
                bits.add(weights)
            if turn > 0:  # the first warms the caches
                for kind, list_ in ratios.items():
                    list_.append(seconds[kind] / seconds["plain"])
    print(f"same bits: {len(bits) == 1}")
    for kind, list_ in ratios.items():
        print(f"{kind}: {100 * (statistics.median(list_) - 1):+.2f}% "
              f"({100 * (min(list_) - 1):+.2f} to {100 * (max(list_) - 1):+.2f}, {len(list_)} rounds)")
    return 0 if len(bits) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
