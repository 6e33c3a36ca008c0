"""Unequal ranks with and without the balancer; as root, since CPU quotas make ranks unequal.

    bench/balance.py [--layouts 1+1,1+3] [--steps 40] [--ratio 1.78] [--change]

A layout is so many slow ranks and so many fast ones, of one thread each. Four times of a step are
printed: static (even shares), dynamic (--balance on), all-fast (as many fast ranks, even shares) and
perfect (work cut by speed to any fraction, from all-fast and the quotas). The first steps, in which
the balancer learns, are left out of dynamic and given beside it. With --change the quota of the slow
rank is that of the fast ones from the middle on: the steps until shares fit are counted. Losses are
compared with those of static shares.
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

import ddp
from cpu_quota import Quota

LEARNING = 15  # steps


def ranks_below(launcher, count):
    """The processes of the ranks, in order, as soon as all are there. One alone is the process itself."""
    if count == 1:
        return [launcher]
    found = {}
    while len(found) < count:
        time.sleep(0.01)
        for entry in pathlib.Path(f"/proc/{launcher}/task/{launcher}").glob("children"):
            for process in entry.read_text().split():
                try:
                    environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                for variable in environment:
                    if variable.startswith(b"HONE_RANK="):
                        found[int(variable[len("HONE_RANK="):])] = int(process)
    return [found[rank] for rank in range(count)]


def run(options, folder, output, shares, more, change=None):
    """Trains with a quota a rank; gives the log and the times at which its lines came."""
    words = ddp.command(options, folder, output, options.batch, options.steps,
                        ["--nproc-per-node", str(len(shares)), *more])
    quotas = [Quota(f"{output}-{rank}", share) for rank, share in enumerate(shares)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        for quota, rank in zip(quotas, ranks_below(process.pid, len(shares))):
            quota.add(rank)
        path, times, lines = folder / output / "log.jsonl", [], []
        while process.poll() is None:
            time.sleep(0.002)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            lines = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
            lines = [line for line in lines if "loss" in line]
            while len(times) < len(lines):
                times.append(time.perf_counter())
                if change and len(times) == options.steps // 2:
                    for quota in quotas:
                        quota.set(change)
        if process.returncode != 0:
            sys.exit(f"{' '.join(words)}: {process.stderr.read().strip()}")
    finally:
        for quota in quotas:
            quota.remove()
    steps = [b - a for a, b in zip(times, times[1:])]
    return {"steps": steps, "losses": [line["loss"] for line in lines],
            "samples": [[rank["samples"] for rank in line.get("ranks", [])] for line in lines]}


def settled(samples, begin):
    """Counts the steps from `begin` until shares are those of the end, within one in sixteen."""
    last, total = samples[-1], sum(samples[-1])
    for step in range(len(samples) - 1, begin - 1, -1):
        if any(abs(a - b) > total / 16 for a, b in zip(samples[step], last)):
            return step + 1 - begin
    return 0


def compare(options, folder, layout):
    slow, fast = map(int, layout.split("+"))
    ranks = slow + fast
    most = min(1.0, 1.85 / (fast + slow / options.ratio), 1.85 / ranks)
    unequal = [most / options.ratio] * slow + [most] * fast
    mean = lambda steps: statistics.mean(steps[LEARNING:])
    all_fast = run(options, folder, "fast", [most] * ranks, [])
    static = run(options, folder, "static", unequal, [])
    dynamic = run(options, folder, "dynamic", unequal, ["--balance", "on"])
    apart = max(abs(a - b) for a, b in zip(static["losses"], dynamic["losses"]))
    if apart > 1e-5:
        sys.exit(f"{layout}: losses differ by {apart}")
    perfect = mean(all_fast["steps"]) * ranks / (fast + slow / options.ratio)
    result = {"layout": layout, "ratio": options.ratio, "quota_of_fast": most, "static": mean(static["steps"]),
              "dynamic": mean(dynamic["steps"]), "learning": statistics.mean(dynamic["steps"][:LEARNING]),
              "all_fast": mean(all_fast["steps"]), "perfect": perfect, "apart": apart,
              "samples": dynamic["samples"][-1], "over_perfect": mean(dynamic["steps"]) / perfect - 1}
    print(f"{layout}: static {result['static']:.3f} s, dynamic {result['dynamic']:.3f} s "
          f"({result['learning']:.3f} s while learning), all-fast {result['all_fast']:.3f} s, perfect "
          f"{perfect:.3f} s: {100 * result['over_perfect']:.1f}% over perfect; samples "
          f"{result['samples']}", flush=True)
    return result


def equal(options, folder):
    """What the balancer costs where there is nothing to balance."""
    off = run(options, folder, "off", [0.9, 0.9], [])
    on = run(options, folder, "on", [0.9, 0.9], ["--balance", "on"])
    cost = statistics.median(on["steps"]) / statistics.median(off["steps"]) - 1
    print(f"equal ranks: {100 * cost:.1f}% more; samples {on['samples'][-1]}", flush=True)
    return {"layout": "equal", "cost": cost, "samples": on["samples"][-1]}


def changed(options, folder):
    most = 0.9
    result = run(options, folder, "changed", [most / options.ratio, most], ["--balance", "on"],
                 change=most)
    steps = settled(result["samples"], options.steps // 2)
    print(f"changed in step {options.steps // 2}: shares fit after {steps} steps; samples "
          f"{result['samples'][options.steps // 2 - 1]}, then {result['samples'][-1]}", flush=True)
    return {"layout": "changed", "steps": steps, "samples": result["samples"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ddp.ROOT / "build/hone"))
    parser.add_argument("--layouts", default="1+1,1+3,equal,changed")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=48, help="samples of a rank")
    parser.add_argument("--ratio", type=float, default=1.78)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ddp.write_inputs(folder, (128, 512, 2, 2), 128, 4 * options.batch * 4)
        for layout in options.layouts.split(","):
            special = {"equal": equal, "changed": changed}.get(layout)
            results.append(special(options, folder) if special else compare(options, folder, layout))
    if options.output:
        old = json.loads(options.output.read_text()) if options.output.exists() else []
        options.output.write_text(json.dumps(old + results, indent=1) + "\n")


if __name__ == "__main__":
    main()
