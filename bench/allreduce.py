#!/usr/bin/env python3
"""Sums of floats between two ranks of one host: hone's shared windows, MPI_Allreduce, gloo, in turns.

    bench/allreduce.py [--build build] [--python .venv/bin/python] [--rounds 3]

Each checks its sum before it times it. A turn starts new processes; hone's and MPI's have a
core each, gloo's, which have more threads than one, any; in each round every peer has a
turn at every size. What counts is the median of all times of a peer at a size. Writes
bench/results/allreduce.md and .json; exits with 1 where hone is less than 5 times as fast as a peer
somewhere. MPI is left out where its program was not built, gloo where the Python has no torch.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
SIZES = [1 << 20, 4 << 20, 16 << 20, 100_000_000]
BAR = 5.0
GLOO = """
import sys, time, datetime
import torch, torch.distributed as dist
path, rank, size, count, times = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=size,
                        timeout=datetime.timedelta(seconds=60))
place = torch.arange(count // 4)
values = [((place + 7 * r) % 1000).float() for r in range(size)]
data = values[rank].clone()
dist.all_reduce(data)
assert torch.equal(data, sum(values)), "wrong sum"
for i in range(-3, times):
    data.copy_(values[rank])
    dist.barrier()
    begin = time.perf_counter()
    dist.all_reduce(data)
    end = time.perf_counter()
    if i >= 0 and rank == 0:
        print(f"{1e3 * (end - begin):.6f}")
sys.stdout.flush()
dist.barrier()
dist.destroy_process_group()
"""


def numbers(text):
    return [float(line) for line in text.split()]


def hone(build, count, times):
    done = subprocess.run([build / "allreduce_bench", str(count), str(times)], check=True,
                          capture_output=True, text=True)
    return numbers(done.stdout)


def mpi(build, count, times):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", build / "allreduce_mpi",
               str(count), str(times)]
    return numbers(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def gloo(python, count, times):
    with tempfile.TemporaryDirectory() as folder:
        words = [python, "-c", GLOO, f"{folder}/store"]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
        ranks = [subprocess.Popen([*words, str(rank), "2", str(count), str(times)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
                 for rank in range(2)]
        outputs = [each.communicate(timeout=120)[0] for each in ranks]
        if any(each.returncode for each in ranks):
            raise RuntimeError("gloo failed")
        return numbers(outputs[0])


def peers_of(build, python):
    peers = {"hone": lambda *turn: hone(build, *turn)}
    if (build / "allreduce_mpi").exists():
        peers["MPI_Allreduce"] = lambda *turn: mpi(build, *turn)
    if subprocess.run([python, "-c", "import torch.distributed"], capture_output=True).returncode == 0:
        peers["gloo"] = lambda *turn: gloo(python, *turn)
    return peers


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def ratios(medians):
    """How many times as fast hone is as each peer, by size."""
    return {peer: [there / here for there, here in zip(times, medians["hone"])]
            for peer, times in medians.items() if peer != "hone"}


def table(medians):
    gains = ratios(medians)
    head = ["size", "hone"] + [f"{peer} | times" for peer in gains]
    lines = ["| " + " | ".join(head) + " |", "|---" * (2 + 2 * len(gains)) + "|"]
    for i, size in enumerate(SIZES):
        cells = [f"{size / 1e6:.1f} MB", f"{medians['hone'][i]:.3f} ms"]
        for peer in gains:
            cells += [f"{medians[peer][i]:.3f} ms", f"{gains[peer][i]:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peers = peers_of(options.build, options.python)
    times = {peer: [[] for _ in SIZES] for peer in peers}
    for _ in range(options.rounds):
        for i, size in enumerate(SIZES):
            for peer, turn in peers.items():
                times[peer][i] += turn(size, 15 if size > 50e6 else 200)
    medians = {peer: [statistics.median(each) for each in rows] for peer, rows in times.items()}
    gains = ratios(medians)
    least = min((gain for each in gains.values() for gain in each), default=0)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "allreduce.json").write_text(json.dumps(
        {"processor": processor(), "ranks": 2, "sizes": SIZES, "median_ms": medians}, indent=1) + "\n")
    (RESULTS / "allreduce.md").write_text(
        "# Sums between two ranks of one host\n"
        f"{processor()}, {os.cpu_count()} cores, two ranks; medians over {options.rounds} rounds in "
        "turns; every sum was checked. Made by `bench/allreduce.py`.\n\n"
        f"{table(medians)}\n\nhone's data lies in the windows that ranks share "
        "(`Communicator::window`), where gradients live; the peers sum in place.\n")
    print(table(medians))
    print(f"least ratio {least:.1f}, bar {BAR}")
    return 0 if least >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
