#!/usr/bin/env python3
"""What `hone train --explain` costs in accuracy: MiniLM on five tasks, with and without, by seeds.

    bench/explain_accuracy.py --model MINILM [--hone build/hone] [--device cpu] [--tasks sst2,trec6]
                              [--seeds 0,1,2,3,4] [--parallel 1] [--output FILE]

First a parser is trained on the Stanford Sentiment Treebank's and GUM's trees together, and scored on
the dev sets of both. It gives trees to the rows that have none; SST-2 and SST-5 take the treebank's.
Both runs of a seed have the same settings: batch 32, AdamW at 5e-5 with decay 0.01, 6% warm-up and
linear decay; the score is that of the last epoch on the dev or test set. The bar is the mean without
--explain less two standard errors of the difference. HONE_DATA has the sets.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from random_models import DATA, ROOT

# Folder below HONE_DATA, epochs, rows of training.
TASKS = {"sst2": ("glue", 3, 67349), "sst5": ("", 4, 8544), "trec6": ("", 5, 5452),
         "trec50": ("", 5, 5452), "subj": ("", 3, 9000)}
BATCH = 32
PARSER = ["--num_train_epochs", "8", "--learning_rate", "2e-4", "--warmup_ratio", "0.06",
          "--per_device_train_batch_size", str(BATCH)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time")
    parser.add_argument("--output", type=pathlib.Path, help="a file for the page")
    return parser.parse_args()


def hone(options, *words):
    done = subprocess.run([options.hone, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def placed(options):
    return ["--device", options.device, "--json", "--quiet",
            *(["--bf16"] if options.dtype == "bf16" else [])]


def train_parser(options, scratch):
    """The parser's folder, and its unlabelled F1 on both dev sets."""
    both = scratch / "both.txt"
    both.write_text("".join((DATA / f"{name}_trees/train.txt").read_text() for name in ("sst", "gum")))
    folder = scratch / "parser"
    hone(options, "train", "--task_name", "parse", "--model", options.model, "--train_file", both,
         "--validation_file", DATA / "sst_trees/dev.txt", "--output_dir", folder, "--save_strategy",
         "no", *PARSER, *placed(options))
    scores = {name: hone(options, "eval", "--model", folder, "--test_file",
                         DATA / f"{name}_trees/dev.txt", "--device", options.device, "--json")
              for name in ("sst", "gum")}
    return folder, scores


def run(options, parser, task, seed, explains):
    folder, epochs, rows = TASKS[task]
    trees = [DATA / "sst_trees/train.txt", DATA / "sst_trees/dev.txt"] if "sst" in task else []
    more = ["--explain", "--parser", parser, *(["--trees", *trees] if trees else [])]
    with tempfile.TemporaryDirectory() as output:
        made = hone(options, "train", "--model", options.model, "--task_name", task, "--data",
                    DATA / folder, "--output_dir", output, "--seed", seed, "--num_train_epochs",
                    epochs, "--per_device_train_batch_size", BATCH, "--learning_rate", "5e-5",
                    "--weight_decay", "0.01", "--warmup_steps", int(.06 * -(-rows // BATCH) * epochs),
                    "--save_strategy", "no", "--eval_strategy", "no", *placed(options),
                    *(more if explains else []))
    return made["eval_accuracy"], made["train_runtime"]


def page(options, scores, results):
    lines = ["# What explaining costs in accuracy", "",
             f"MiniLM-L6, {options.dtype}, {options.device}; made by `bench/explain_accuracy.py "
             f"{' '.join(sys.argv[1:])}`. Accuracy of the last epoch. The bar is the mean without "
             "`--explain` less two standard errors of the difference.", "",
             "| task | without, by seed | mean | with --explain, by seed | mean | bar | |",
             "|---|---|--:|---|--:|--:|---|"]
    for task in options.tasks.split(","):
        plain, own = ([results[task, seed, explains][0] for seed in options.seeds.split(",")]
                      for explains in (False, True))
        changes = [b - a for a, b in zip(plain, own)]
        error = statistics.stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else 0.0
        bar = statistics.mean(plain) - 2 * error
        lines.append(f"| {task} | {' '.join(f'{x:.4f}' for x in plain)} | {statistics.mean(plain):.4f} "
                     f"| {' '.join(f'{x:.4f}' for x in own)} | {statistics.mean(own):.4f} | {bar:.4f} "
                     f"| {'met' if statistics.mean(own) >= bar else '**missed**'} |")
    lines += ["", f"The parser alone, trained on both treebanks (`{' '.join(PARSER)}`), unlabelled F1: "
              + ", ".join(f"{name.upper()} dev {100 * made['metrics']['f1']:.1f}"
                          for name, made in scores.items()) + "."]
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        parser, scores = train_parser(options, pathlib.Path(scratch))
        print({name: made["metrics"]["f1"] for name, made in scores.items()}, flush=True)
        jobs = [(task, seed, explains) for task in options.tasks.split(",")
                for seed in options.seeds.split(",") for explains in (False, True)]
        results = {}
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            waiting = {pool.submit(run, options, parser, *job): job for job in jobs}
            for future in concurrent.futures.as_completed(waiting):
                results[waiting[future]] = future.result()
                print(*waiting[future], *future.result(), flush=True)
    text = page(options, scores, results)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
