#!/usr/bin/env python3
"""Loses a rank on a cluster that is up (tools/cluster), by srun and by mpirun, and watches how the run ends.

  tests/cluster/failures.py [--build build] [--times 20] [--cases killed,frozen,cut] [--starters srun,mpirun]

A case passes where all ranks have ended within its time and what was printed names the lost rank, its
host, the collective and the step. Exits with 1 where one does not.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLUSTER = ROOT / "tools/cluster"
SHARED = pathlib.Path(os.environ.get("CLUSTER_DIR", "/var/tmp/hone-cluster")) / "shared"
TIMEOUT = 5  # seconds of silence that ranks allow
STARTERS = {"srun": ["srun", "--mpi=pmix", "-N4"], "mpirun": ["salloc", "-Q", "-N4", "mpirun", "--quiet"]}
# The seconds in which all ranks must have ended. A machine that is busy gets a little more than the
# time that the ranks themselves keep.
LIMITS = {"killed": 5, "frozen": TIMEOUT + 3, "cut": TIMEOUT + 3}
LOST = {"killed": "has ended", "frozen": "has been silent for", "cut": "has been silent for"}
NODE, RANK = "n3", 2


def ranks():
    """{process number: network} of all ranks; the guardians that they forked are left out."""
    found, parents = {}, {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text()
            name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
            if name == "comm_probe" and rest[0] != "Z":
                found[int(process.name)] = os.readlink(process / "ns/net")
                parents[int(process.name)] = int(rest[1])
        except (OSError, ValueError):
            continue
    return {pid: net for pid, net in found.items() if parents[pid] not in found}


def network_of(node):
    return os.readlink(f"/proc/{(SHARED.parent / node / 'pid').read_text().strip()}/ns/net")


def wait_for(condition, seconds):
    """The seconds that it took; none where it did not come."""
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.02)
    return None


def at_step(number):
    try:
        return int((SHARED / "step").read_text() or 0) >= number
    except (OSError, ValueError):
        return False


def start(starter):
    (SHARED / "step").unlink(missing_ok=True)
    words = [CLUSTER, "run", *STARTERS[starter], SHARED / "comm_probe", "1000000", "10000", str(TIMEOUT), SHARED / "step"]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def lose(case):
    if case == "cut":
        subprocess.run([CLUSTER, "cut", NODE], check=True)
        return
    network = network_of(NODE)
    rank = next(pid for pid, net in ranks().items() if net == network)
    os.kill(rank, signal.SIGKILL if case == "killed" else signal.SIGSTOP)


def end(job):
    """Ends what the starter has left, and gives what was printed and whether it ended by itself."""
    alone = wait_for(lambda: job.poll() is not None, 10) is not None
    if not alone:
        subprocess.run([CLUSTER, "run", "scancel", "-u", "root"], check=False)
        if wait_for(lambda: job.poll() is not None, 20) is None:
            os.killpg(job.pid, signal.SIGKILL)
    for pid in ranks():
        os.kill(pid, signal.SIGKILL)
    return job.communicate()[0], alone


def idle():
    words = [CLUSTER, "run", "sinfo", "-h", "-N", "-t", "idle", "-o", "%N"]
    return len(subprocess.run(words, capture_output=True, text=True).stdout.split()) >= 4


def once(starter, case):
    """What went wrong, or nothing; and the seconds until all ranks had ended."""
    job = start(starter)
    try:
        if wait_for(lambda: at_step(5), 60) is None:
            return "the ranks did not start", None
        lose(case)
        seconds = wait_for(lambda: not ranks(), LIMITS[case] + 20)
    finally:
        if case == "cut":
            subprocess.run([CLUSTER, "heal", NODE], check=True)
        text, alone = end(job)
    if wait_for(idle, 60) is None:
        return "the nodes are not idle again", seconds
    lines = [line for line in text.splitlines() if line.startswith("hone: ")]
    told = [line for line in lines if f"rank {RANK} on {NODE} {LOST[case]}" in line and "collective" in line and "step" in line]
    if seconds is None or seconds > LIMITS[case]:
        return f"ranks were left after {LIMITS[case]} s", seconds
    if not told:
        return f"nobody named the lost rank: {text!r}", seconds
    if not alone and case != "cut":
        return f"{starter} did not end", seconds
    return "", seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--cases", default="killed,frozen,cut")
    parser.add_argument("--starters", default="srun,mpirun")
    options = parser.parse_args()
    for name in ("comm_probe", "libhone_mpi.so"):
        shutil.copy(options.build / name, SHARED / name)
    failed = False
    for starter in options.starters.split(","):
        for case in options.cases.split(","):
            results = [once(starter, case) for _ in range(options.times)]
            good = sorted(seconds for wrong, seconds in results if not wrong)
            faults = [wrong for wrong, _ in results if wrong]
            times = f"{good[len(good) // 2]:.2f} s (most {good[-1]:.2f} s)" if good else "-"
            print(f"{starter:7} {case:7} {len(good)} of {len(results)}: all ranks ended after {times}", flush=True)
            for wrong in faults[:3]:
                print(f"  {wrong}", flush=True)
            failed = failed or bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
