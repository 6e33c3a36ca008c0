#!/usr/bin/env python3
"""Trains on a cluster that is up (tools/cluster): by srun and by mpirun, over links that are limited, and through
a job that is put back into the queue.

  tests/cluster/training.py [--build build]

Four ranks must have the losses of one process on the same batches, and a job that was interrupted the weights of
one that was not. Exits with 1 where they have not.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import time

from cluster import CLUSTER, ROOT, SHARED, STARTERS, bring, run, state_of, wait_for

STEPS = 20
RANKS = 4
BATCH = 16
NEAR = 1e-5
TRAIN = ["train", "--max_train_samples", "320", "--max_steps", str(STEPS), "--logging_steps", "1", "--eval_strategy", "no",
         "--do_train", "--threads", "1", "--seed", "5", "--quiet"]


def losses(folder):
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [entry["loss"] for entry in entries if "loss" in entry]


def batch(ranks):
    return ["--per_device_train_batch_size", str(BATCH // ranks), "--save_strategy", "no"]


def compare(hone, wanted, links):
    starters = {**STARTERS, "srun, two ranks a node": ["srun", "--mpi=pmix", "-N2", "-n4"]}
    failed = False
    for name, starter in starters.items():
        folder = SHARED / f"by {name}, {links}"
        begin = time.monotonic()
        run([CLUSTER, "run", *starter, hone, *TRAIN, *batch(RANKS), "--output_dir", folder])
        seconds = time.monotonic() - begin
        got = losses(folder)
        far = max(abs(a - b) for a, b in zip(got, wanted)) if len(got) == len(wanted) else float("inf")
        print(f"{name}, {links}: {RANKS} ranks, {len(got)} steps in {seconds:.1f} s; losses differ by {far:.1e} at most", flush=True)
        failed = failed or far > NEAR
    return failed


def wait_until(condition, what):
    if wait_for(condition, 120) is None:
        sys.exit(f"training: {what} did not come")


def requeue(hone):
    """A job that is put back into the queue in the middle ends with the weights of one that is not."""
    (SHARED / "train.csv").write_text("label,text\n" + "".join(
        f"{'good' if i % 2 else 'bad'},{'fine' if i % 2 else 'dull'} film number {i}\n" for i in range(320)))
    script = shutil.copy(ROOT / "packaging/slurm/train.sbatch", SHARED / "train.sbatch")
    weights = []
    for name in ("straight", "requeued"):
        folder = SHARED / name
        # The script names a model; the built-in one is given by a folder that was trained for a step.
        more = [*TRAIN[1:], "--per_device_train_batch_size", "4", "--save_strategy", "steps", "--save_steps", "2"]
        job = run([CLUSTER, "run", "sbatch", "--parsable", "-N2", f"--output={SHARED}/{name}.log", script,
                   SHARED / "start", SHARED / "train.csv", folder, *more],
                  env={**os.environ, "HONE": str(hone)}).strip()
        if name == "requeued":
            wait_until(lambda: (folder / "checkpoint-4").exists(), "checkpoint-4")
            run([CLUSTER, "run", "scontrol", "requeue", job])
        wait_until(lambda: state_of(job) in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"), f"the end of job {job}")
        if state_of(job) != "COMPLETED":
            sys.exit(f"job {job} {state_of(job)}:\n{(SHARED / f'{name}.log').read_text()}")
        weights.append((folder / "model.safetensors").read_bytes())
    same = weights[0] == weights[1]
    print(f"a job that was put back into the queue: {'the same' if same else 'other'} bits", flush=True)
    return not same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    bring(options.build, ["hone", "libhone_mpi.so"])
    hone = SHARED / "hone"
    run([hone, *TRAIN, *batch(1), "--output_dir", SHARED / "one"])
    run([hone, *TRAIN, *batch(1), "--max_steps", "1", "--output_dir", SHARED / "start"])
    failed = compare(hone, losses(SHARED / "one"), "free links")
    run([CLUSTER, "rate", "200"])
    failed = compare(hone, losses(SHARED / "one"), "200 Mbit/s") or failed
    run([CLUSTER, "rate", "off"])
    return 1 if requeue(hone) or failed else 0


if __name__ == "__main__":
    sys.exit(main())
