#!/usr/bin/env python3
"""What checkpoints add to a training run: MiniLM's shape over SST-2, with and without, in turns.

    bench/checkpoint_cost.py [--hone build-cuda/hone] [--device cuda] [--steps 5000] [--every 500]
                             [--batch 32] [--rounds 3]

Weights are random; HONE_DATA has glue/SST-2. Both the time of the steps, with what they wait for,
and that of the run from its start to the final model are shown. Exit code 1 where the median ratio
of the latter is over 1.1.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from random_models import DATA, MODELS, ROOT, write_model

MOST = 1.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build-cuda/hone")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def train(options, model, output, saving):
    precision = ["--bf16"] if options.device == "cuda" else []
    subprocess.run([options.hone, "train", "--model", model, "--task_name", "sst2", "--data",
                    DATA / "glue/SST-2", "--output_dir", output, "--overwrite_output_dir",
                    "--max_steps", str(options.steps), "--per_device_train_batch_size",
                    str(options.batch), "--eval_strategy", "no", "--device", options.device,
                    "--quiet", *precision, *saving], check=True, stdout=subprocess.DEVNULL)
    return json.loads((output / "all_results.json").read_text())


def times(results):
    """Seconds of the steps with their checkpoints, and of the run without its evaluation."""
    seconds = results["seconds"]
    return results["train_runtime"], seconds["wall"] - seconds["evaluation"]


def main():
    options = arguments()
    saving = {"without": ["--save_strategy", "no"],
              "with": ["--save_strategy", "steps", "--save_steps", str(options.every),
                       "--save_total_limit", "2"]}
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        model = pathlib.Path(scratch) / "minilm"
        write_model(model, MODELS["minilm"])
        for number in range(options.rounds):
            order = list(saving) if number % 2 == 0 else list(reversed(saving))
            results = {side: train(options, model, pathlib.Path(scratch) / side, saving[side])
                       for side in order}
            without, with_them = times(results["without"]), times(results["with"])
            ratios.append([b / a for a, b in zip(without, with_them)])
            print(f"steps {without[0]:.2f} s without, {with_them[0]:.2f} s with: {ratios[-1][0]:.3f}; "
                  f"run {without[1]:.2f} s, {with_them[1]:.2f} s: {ratios[-1][1]:.3f}", flush=True)
    steps, run = (statistics.median(column) for column in zip(*ratios))
    print(f"medians: steps {steps:.3f}, run {run:.3f} (at most {MOST})")
    return 0 if run <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
