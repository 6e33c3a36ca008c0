#!/usr/bin/env python3
"""Searches for nearest concepts: hone's exact and int8 scans beside faiss' IndexFlatIP.

    python bench/concepts.py [--count 72000 1000000] [--bench build/concepts_bench]

Vectors are 384 wide, drawn around centres and scaled to length 1, one thread each. hone and faiss
run in turns, the run of each that takes the least processor time counts. Neighbours must be equal
before a time counts, but where scores differ by less than rounding. Prints the table of
bench/results/concepts.md. Needs numpy and faiss-cpu.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import faiss
import numpy as np

WIDTH = 384
K = 5
# What must hold, as times of faiss over times of hone.
BARS = {(1, "exact"): 1.0, (1, "bytes"): 2.0, (32, "exact"): 4.0}


def vectors(count, random, centres):
    rows = centres[random.integers(len(centres), size=count)]
    rows = rows + 0.7 * random.standard_normal((count, WIDTH), dtype=np.float32)
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def by_faiss(index, queries, runs):
    times = []
    for _ in range(runs):
        begin = time.process_time()
        scores, found = index.search(queries, K)
        times.append(time.process_time() - begin)
    return scores, found, times


def by_hone(bench, files, scan, runs):
    out = subprocess.run([bench, *files, str(WIDTH), str(K), scan, str(runs)], check=True,
                         capture_output=True, text=True).stdout
    answer = json.loads(out)
    return np.array(answer["indices"]).reshape(-1, K), answer


def differing(rows, queries, found, expected):
    """Queries whose neighbours differ by more than the order of scores that are equal in fp32."""
    wrong = 0
    for query, mine, theirs in zip(queries, found, expected):
        if np.array_equal(mine, theirs):
            continue
        scores = [np.sort(rows[list(each)].astype(np.float64) @ query) for each in (mine, theirs)]
        wrong += not np.allclose(*scores, rtol=0, atol=1e-6)
    return wrong


def compare(count, arguments):
    random = np.random.default_rng(7)
    centres = random.standard_normal((1000, WIDTH), dtype=np.float32)
    rows = vectors(count, random, centres)
    index = faiss.IndexFlatIP(WIDTH)
    index.add(rows)
    lines, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        stored = pathlib.Path(folder) / "rows.npy"
        np.save(stored, rows)
        for query_count in 1, 32:
            queries = vectors(query_count, random, centres)
            asked = pathlib.Path(folder) / "queries.npy"
            np.save(asked, queries)
            ours = {"exact": [], "bytes": []}
            theirs = []
            for _ in range(arguments.rounds):
                _, expected, times = by_faiss(index, queries, arguments.runs)
                theirs.append(min(times))
                for scan, best in ours.items():
                    found, answer = by_hone(arguments.bench, [stored, asked], scan, arguments.runs)
                    if wrong := differing(rows, queries, found, expected):
                        sys.exit(f"{count} rows, {scan}: {wrong} queries find other neighbours")
                    best.append(answer["best"])
            faiss_ms = 1e3 * min(theirs)
            for scan, best in ours.items():
                ms = 1e3 * min(best)
                bar = BARS.get((query_count, scan))
                failed |= bar is not None and faiss_ms / ms < bar
                read = count * WIDTH * (4 if scan == "exact" else 1) / ms / 1e6
                lines.append(f"| {count:,} | {query_count} | {scan} | {faiss_ms:.2f} | {ms:.2f} | "
                             f"{faiss_ms / ms:.2f} | {f'{bar:g}' if bar else ''} | {read:.1f} |")
    return lines, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, nargs="+", default=[72_000, 1_000_000])
    parser.add_argument("--bench", default="build/concepts_bench")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    faiss.omp_set_num_threads(1)
    print("| vectors | queries | scan | faiss, ms | hone, ms | times as fast | bar | GB/s of rows |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    for count in arguments.count:
        lines, missed = compare(count, arguments)
        print("\n".join(lines), flush=True)
        failed |= missed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
