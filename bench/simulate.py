"""Real runs of 1, 2, 4 and 8 ranks beside what `hone study simulate` models of them; as root, for CPU quotas.

    bench/simulate.py [--ranks 1,2,4,8] [--quota 0.23] [--steps 15] [--repeats 3] [--output DIR]

Every rank has one thread and the same share of a core, so that eight fit two cores and computing takes as
long with any number. The runs become records of the study `scale`; the model is fitted to them and printed
beside them. Exits with 1 where a run is off by more than 10%.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import allreduce
import balance
import ddp


def record(options, folder, ranks, repeat):
    """A run as a line of the study's records."""
    name = f"{ranks}-{repeat}"
    balance.run(options, folder, name, [options.quota] * ranks, [])
    results = json.loads((folder / name / "all_results.json").read_text())
    per_step = 1e3 / results["train_steps"]
    metrics = {"step_ms": per_step * results["train_runtime"]}
    if ranks > 1:
        metrics["communication_ms"] = per_step * results["communication"]["busy_seconds"]
        metrics["exposed_ms"] = per_step * results["communication"]["exposed_seconds"]
    print(f"{ranks} ranks: " + ", ".join(f"{key} {value:.1f}" for key, value in metrics.items()), flush=True)
    return {"format": 1, "study": "scale", "case": {"model": "bert", "ranks": ranks, "fraction": 1}, "repeat": repeat,
            "seed": 42, "command": " ".join(sys.argv), "machine": {"processor": allreduce.processor()},
            "metrics": metrics, "status": "ok"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ddp.ROOT / "build/hone"))
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--quota", type=float, default=0.23)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, default=24, help="samples of a rank")
    parser.add_argument("--output", type=pathlib.Path, help="a folder for the records and the page")
    options = parser.parse_args()
    ranks = [int(number) for number in options.ranks.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ddp.write_inputs(folder, (128, 512, 2, 2), 128, 2 * options.batch * max(ranks))
        lines = [record(options, folder, number, repeat) for repeat in range(options.repeats) for number in ranks]
        output = options.output or folder / "simulated"
        output.mkdir(parents=True, exist_ok=True)
        (output / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return subprocess.run([options.hone, "study", "simulate", "--from", output / "records.jsonl", "--output",
                               output]).returncode


if __name__ == "__main__":
    sys.exit(main())
