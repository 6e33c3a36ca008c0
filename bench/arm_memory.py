#!/usr/bin/env python3
"""What answering takes of memory on 64-bit ARM, by qemu's resident size.

    bench/arm_memory.py [--build build-arm64] [--budget 64MB] [--rounds 3] [--output FILE]

Needs `make arm64`. Weights are random, texts SST-2's. The peak of `hone predict` under qemu holds
qemu, too: its translator and the code that it has translated. What qemu takes for hone-small alone
(`hone-small --version`) is shown beside it and taken off; code that is translated later is not.
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile

from random_models import MODELS, ROOT, read_texts, write_model

QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
CASES = [("minilm", "fp32", "hone-small"), ("minilm", "int8", "hone-small"), ("bert-base", "fp32", "hone"),
         ("bert-base", "int8", "hone")]


def peak(words, given=""):
    """Most megabytes that a command had resident."""
    with tempfile.TemporaryFile("w+") as source:
        source.write(given)
        source.seek(0)
        child = subprocess.Popen([*QEMU, *map(str, words)], stdin=source, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{words}: exit code {child.returncode}")
    return usage.ru_maxrss * 1024 / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-arm64")
    parser.add_argument("--budget", default="64MB")
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    texts, source = read_texts()
    given = "\n".join(texts[:options.texts]) + "\n"
    base = statistics.median(peak([options.build / "hone-small", "--version"]) for _ in range(options.rounds))
    lines = [f"# Memory of answers on 64-bit ARM\n\nPeak resident megabytes under qemu-user (QEMU_CPU="
             f"{os.environ.get('QEMU_CPU', 'the default')}, on {platform.machine()}), median of {options.rounds} "
             f"runs; {options.texts} texts of {source}, random weights, `--memory-budget {options.budget}` on "
             f"folders of `hone convert --stream`. qemu alone takes {base:.1f} MB.\n",
             "| model | program | as measured | without qemu |", "|---|---|--:|--:|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, dtype, program in CASES:
            model, packed = pathlib.Path(folder) / name, pathlib.Path(folder) / f"{name}-{dtype}"
            if not model.exists():
                write_model(model, MODELS[name])
            subprocess.run([*QEMU, options.build / "hone", "convert", "--model", model, "--output", packed,
                            "--stream", "--dtype", dtype, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            words = [options.build / program, "predict", "--model", packed, "--memory-budget", options.budget]
            found = statistics.median(peak(words, given) for _ in range(options.rounds))
            lines.append(f"| {name}, {dtype} | {program} | {found:.1f} MB | {found - base:.1f} MB |")
            print(lines[-1], flush=True)
    page = "\n".join(lines) + "\n\nby `bench/arm_memory.py`\n"
    print(page)
    if options.output:
        options.output.write_text(page)


if __name__ == "__main__":
    main()
