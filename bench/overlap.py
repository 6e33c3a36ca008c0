"""What it is worth that gradients are exchanged while the backward pass goes on: BERT-base, two ranks.

    bench/overlap.py [--batch 4] [--steps 3] [--rounds 3]

build/overlap_bench trains on a link so slow that a step's sums take as long as its backward pass,
with overlap and without, in turns. The link is emulated by waiting: see its source.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ddp

LEAST = 1.25


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ddp.ROOT / "build/overlap_bench"))
    parser.add_argument("--case", default="bert-base")
    parser.add_argument("--batch", type=int, default=4, help="samples of a rank")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ddp.write_inputs(folder, ddp.CASES[options.case][0], 128, 4 * options.batch)
        done = subprocess.run(
            [options.program, str(folder / "config.json"), str(ddp.DATA / "tokenizers/bert-base-uncased"),
             str(folder / "train.csv"), str(folder / "run"), str(options.batch), str(options.steps),
             str(options.rounds)], capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    result = {"case": options.case, "batch": options.batch, "steps": options.steps, **json.loads(done.stdout)}
    print(f"{options.case}: {result['ratio']:.2f} times as fast with overlap (at least {LEAST}); backward "
          f"{result['backward_s']:.2f} s, link {result['link_bytes_per_second'] / 1e6:.0f} MB/s")
    if options.output:
        old = json.loads(options.output.read_text()) if options.output.exists() else []
        options.output.write_text(json.dumps(old + [result], indent=1) + "\n")


if __name__ == "__main__":
    main()
