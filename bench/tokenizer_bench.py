#!/usr/bin/env python3
"""Times hone's tokenizers against `tokenizers` on one thread: MB/s and ratio.

    python bench/tokenizer_bench.py [--seconds S] [--json OUT]

Both encode the same texts (SST-2's training sentences, 5,000 of IMDB) into ids, type ids and
offsets, special tokens included, no truncation. Of `tokenizers` the fastest of its calls counts
(encode_batch, encode_batch_fast without offsets). hone's time is that of its driver's loop over
encode(), the best pass of several on both sides. One thread is timed in processor time, so that a
busy machine does less harm; two threads by the clock. Needs the target tokenize_driver.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "parity"))

from tokenizers_common import DATA, corpus, driver_path, pack  # noqa: E402
from tokenizers_compare import load_reference  # noqa: E402


def ours(path, packed, seconds, threads):
    out = subprocess.run([driver_path(), str(path), "--bench", str(seconds), "--threads", str(threads)],
                         input=packed, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def theirs(tokenizer, texts, seconds):
    best = {}
    for name in ("encode_batch", "encode_batch_fast"):
        call = getattr(tokenizer, name)
        start = time.perf_counter()
        best[name] = float("inf")
        while time.perf_counter() - start < seconds or best[name] == float("inf"):
            at = time.process_time()
            for i in range(0, len(texts), 1000):
                call(texts[i:i + 1000])
            best[name] = min(best[name], time.process_time() - at)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    cases = {"WordPiece": "bert-base-uncased", "byte BPE": "roberta", "Unigram": "albert"}
    texts = {"SST-2": [t for t in corpus("SST-2")], "IMDB": corpus("IMDB")[:5000]}
    rows = []
    print("| model | text | MB | tokenizers MB/s | (fast, no offsets) | hone MB/s | ratio | hone, 2 threads MB/s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for model, folder in cases.items():
        path = DATA / "tokenizers" / folder
        tokenizer = load_reference(path)
        for name, inputs in texts.items():
            size = sum(len(t.encode()) for t in inputs) / 1e6
            packed = pack(inputs)
            one = ours(path, packed, args.seconds, 1)
            peer = theirs(tokenizer, inputs, args.seconds)
            two = ours(path, packed, args.seconds, 2)
            expected = sum(len(e.ids) for e in tokenizer.encode_batch(inputs[:2000]))
            assert expected == ours(path, pack(inputs[:2000]), 0.01, 1)["tokens"], "tokens differ"
            row = {"model": model, "text": name, "megabytes": size, "peer": size / peer["encode_batch"],
                   "peer_fast": size / peer["encode_batch_fast"], "hone": size / one["cpu_seconds"],
                   "ratio": min(peer.values()) / one["cpu_seconds"], "hone_2_threads": size / two["seconds"]}
            rows.append(row)
            print(f"| {model} | {name} | {size:.1f} | {row['peer']:.1f} | {row['peer_fast']:.1f} | {row['hone']:.1f} "
                  f"| {row['ratio']:.1f} | {row['hone_2_threads']:.1f} |", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
