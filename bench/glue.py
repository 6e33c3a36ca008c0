#!/usr/bin/env python3
"""Fine-tunes MiniLM-L6 on GLUE tasks with several seeds and sets the scores beside PyTorch's.

The settings are those of the PyTorch runs: batch 32, AdamW at 5e-5 with decay 0.01, 6% warm-up and
linear decay, clipping at 1, 128 tokens, 3 epochs of SST-2 and 5 of the others; the score is that of
the last epoch on the dev set. Writes glue.json as runs end and glue.md at the end.

    bench/glue.py --model MINILM --data GLUE [--tasks cola,rte] [--seeds 0,1,2,3,4] [--bf16]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Name, metric, epochs, samples, PyTorch's dev scores by seed, and its mean less two standard errors.
TASKS = {
    "mrpc": ("f1", 5, 3668, [.863, .850, .856], .848),
    "stsb": ("pearson", 5, 5749, [.8636, .8568, .8616, .8533, .8579], .855),
    "rte": ("accuracy", 5, 2490, [.610, .610, .574], .574),
    "cola": ("matthews_correlation", 5, 8551, [.2914, .2758, .2887, .2861, .2978], .281),
    "sst2": ("accuracy", 3, 67349, [.8911, .8922, .8888, .8933, .8842], .8867),
}
BATCH = 32


def run(task, seed, arguments):
    """One fine-tuning run; its results."""
    _, epochs, samples, _, _ = TASKS[task]
    steps = -(-samples // BATCH) * epochs
    with tempfile.TemporaryDirectory() as output:
        command = [
            arguments.hone, "train", "--model", arguments.model, "--task_name", task,
            "--data", arguments.data, "--output_dir", output, "--seed", str(seed),
            "--num_train_epochs", str(epochs), "--per_device_train_batch_size", str(BATCH),
            "--learning_rate", "5e-5", "--weight_decay", "0.01",
            "--warmup_steps", str(int(.06 * steps)), "--save_strategy", "no",
            "--eval_strategy", "no", "--threads", str(arguments.threads), "--quiet", "--json"]
        command += ["--bf16"] if arguments.bf16 else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{task} seed {seed}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    kept = {name: value for name, value in result.items()
            if name.startswith("eval_") or name in ("train_runtime", "train_loss", "waiting_share")}
    return {"task": task, "seed": seed, **kept}


def table(results, note):
    lines = ["| task | metric | hone, by seed | mean | PyTorch's mean | bar | |", "|---|---|---|---|---|---|---|"]
    for task, (metric, _, _, peer, bar) in TASKS.items():
        scores = [r[f"eval_{metric}"] for r in sorted(results, key=lambda r: r["seed"])
                  if r["task"] == task]
        if not scores:
            continue
        mean = statistics.mean(scores)
        lines.append(f"| {task} | {metric} | {' '.join(f'{s:.4f}' for s in scores)} | {mean:.4f} "
                     f"| {statistics.mean(peer):.4f} | {bar} | {'met' if mean >= bar else 'missed'} |")
    return (f"# MiniLM-L6 on GLUE\n\n{note}\nThe bar is PyTorch's mean less two standard errors.\n\n"
            + "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", default=os.environ.get("HONE_DATA", "../shared/data") + "/glue")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--out", default=str(ROOT / "bench/results"))
    parser.add_argument("--note", default="", help="the hardware, for the table")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    file = out / "glue.json"
    results = json.loads(file.read_text()) if file.exists() else []
    jobs = [(task, int(seed)) for task in arguments.tasks.split(",")
            for seed in arguments.seeds.split(",")]
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        for future in concurrent.futures.as_completed(
                [pool.submit(run, task, seed, arguments) for task, seed in jobs]):
            result = future.result()
            results = [r for r in results
                       if (r["task"], r["seed"]) != (result["task"], result["seed"])]
            results.append(result)
            file.write_text(json.dumps(results, indent=1) + "\n")
            metric = TASKS[result["task"]][0]
            print(f"{result['task']} seed {result['seed']}: {metric} "
                  f"{result[f'eval_{metric}']:.4f}, {result['train_runtime']:.0f} s", flush=True)
    (out / "glue.md").write_text(table(results, arguments.note))


if __name__ == "__main__":
    main()
