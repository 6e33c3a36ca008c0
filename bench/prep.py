#!/usr/bin/env python3
"""hone prep beside DuckDB and Spark on made-up reviews, in turns; results are compared before they are timed.

    bench/prep.py [--hone FILE] [--bytes 150e6] [--rounds 3] [--threads 1,2] [--peers duckdb,spark] [--output DIR]

Writes prep.md and prep.json into DIR; without --output into bench/results where size, rounds, threads and
peers are those above, and else nowhere. Needs duckdb, pyspark, h5py and Java: `make test-prep` installs
them into .cache/prep. JVMs are started before the clock; input and output lie in one folder (--folder).
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import tempfile
import time

import prep_peers
import prep_reviews

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
VOCABULARY = 10_000


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def hone_prepare(hone, path, output, threads, extra=()):
    shutil.rmtree(output, ignore_errors=True)
    done = subprocess.run([hone, "prep", "--input", path, "--output", output, "--vocabulary", str(VOCABULARY),
                           "--threads", str(threads), "--json", "--quiet", *extra],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(options, folder, path):
    """Seconds of each, by name and threads."""
    peers = options.peers.split(",") if options.peers else []
    seconds, results, facts = {}, {}, {}
    for threads in (int(number) for number in options.threads.split(",")):
        session = prep_peers.spark_session(threads) if "spark" in peers else None
        ways = {"hone": lambda: facts.update(hone_prepare(options.hone, path, folder / "store", threads))}
        if "duckdb" in peers:
            ways["duckdb"] = lambda: prep_peers.duckdb_prepare(path, folder / "duckdb", threads, VOCABULARY)
        if session:
            ways["spark"] = lambda: prep_peers.spark_prepare(session, path, folder / "spark", VOCABULARY)
        for turn in range(options.rounds):
            for name, work in ways.items():
                begin = time.perf_counter()
                given = work()
                seconds.setdefault((name, threads), []).append(time.perf_counter() - begin)
                if turn == 0:
                    results[name] = given or prep_peers.hone_result(folder / "store")
                    if results[name] != results["hone"]:
                        raise SystemExit(f"{name} gives other results than hone: "
                                         f"{results[name][0]} rows, sum {results[name][2]}; "
                                         f"{results['hone'][0]} rows, sum {results['hone'][2]}")
        if session:
            session.stop()
    return seconds, facts


def page(options, size, records, seconds, facts):
    median = {key: statistics.median(values) for key, values in seconds.items()}
    lines = ["# Preparation beside DuckDB and Spark", "",
             f"{processor()}, {os.cpu_count()} cores; {records} made-up reviews (synthetic: IMDB's words, a fifth of "
             f"the records twice), {size / 1e6:.0f} MB of JSON lines; vocabulary {VOCABULARY}, length 100; hone writes "
             f"HDF5 (shuffle, deflate 1), the others Parquet (zstd, snappy). Median of {options.rounds} rounds in "
             "turns; rows, vocabulary and the sum of all ids are the same. A JVM's start is not counted. "
             "Method: bench/prep.py.", "",
             "| | threads | s | MB/s | MB/s a thread | hone is faster by |", "|---|--:|--:|--:|--:|--:|"]
    for (name, threads), value in sorted(median.items(), key=lambda item: (item[0][1], item[1])):
        rate = size / 1e6 / value
        ratio = value / median["hone", threads]
        lines.append(f"| {name} | {threads} | {value:.2f} | {rate:.0f} | {rate / threads:.0f} | "
                     f"{'' if name == 'hone' else f'{ratio:.1f}'} |")
    lines += ["", f"hone: {facts['rows']} rows, {facts['duplicates']} duplicates, {facts['shards']} shards, "
              f"peak memory {facts['peak_rss_bytes'] / 1e6:.0f} MB."]
    return "\n".join(lines) + "\n", median


def results_folder(options, parser):
    """Where results go: small runs do not replace those of the documented size."""
    documented = not options.input and all(
        getattr(options, name) == parser.get_default(name) for name in ("bytes", "rounds", "threads", "peers"))
    return options.output or (RESULTS if documented else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--bytes", type=float, default=150e6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default="duckdb,spark")
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; default: a temporary folder")
    parser.add_argument("--input", type=pathlib.Path, help="reviews that prep_reviews.py wrote; default: made here")
    parser.add_argument("--data", type=pathlib.Path, default=prep_reviews.data_folder())
    parser.add_argument("--output", type=pathlib.Path, help="a folder for the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        path = options.input or folder / "reviews.jsonl"
        if not options.input:
            prep_reviews.write(path, options.bytes, options.data)
        seconds, facts = measure(options, folder, path)
        text, median = page(options, path.stat().st_size, facts["records"], seconds, facts)
    print(text)
    if results := results_folder(options, parser):
        results.mkdir(parents=True, exist_ok=True)
        (results / "prep.md").write_text(text)
        (results / "prep.json").write_text(json.dumps(
            {"seconds": {f"{name}-{threads}": values for (name, threads), values in seconds.items()},
             "hone": facts, "processor": processor()}, indent=2) + "\n")
    slow = [key for key, value in median.items() if key[0] != "hone" and value < 5 * median["hone", key[1]]]
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
