#!/usr/bin/env python3
"""Names the cores that a fixed piece of work ran fastest on, for timing on a shared machine.

    taskset -c $(bench/quiet_cores.py 2) bench/run.py --threads 2 ...

Where a core's other hardware thread belongs to another guest of the host, nothing here tells of it
but time: while that one is busy all work takes twice as long, and AMX's products over four times.
"""
import os
import pathlib
import sys
import time

ROUNDS = 100


def work():
    start = time.perf_counter()
    sum(range(20_000))
    return time.perf_counter() - start


def threads_of_core(cpu):
    listed = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list")
    return listed.read_text() if listed.exists() else str(cpu)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    seconds = dict.fromkeys(os.sched_getaffinity(0), 0.0)
    for _ in range(ROUNDS):
        for cpu in seconds:
            os.sched_setaffinity(0, {cpu})
            work()
            seconds[cpu] += work()
    best = sorted(seconds, key=seconds.get)
    for cpu in best:
        print(f"{cpu}: {seconds[cpu] / ROUNDS * 1e6:.0f} us", end="  ", file=sys.stderr)
    print(file=sys.stderr)
    chosen = {}  # by core: two threads of one would disturb each other
    for cpu in best:
        chosen.setdefault(threads_of_core(cpu), cpu)
    print(",".join(str(cpu) for cpu in list(chosen.values())[:count]))


if __name__ == "__main__":
    main()
