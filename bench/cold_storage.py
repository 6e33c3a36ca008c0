#!/usr/bin/env python3
"""Times one `hone predict` under a memory budget with its weights in and out of the page cache.

    sudo bench/cold_storage.py --model PACKED_DIR --input TEXTS [--budget 64MB] [--rounds 12]

PACKED_DIR is of `hone convert --stream`. A round reads the packed file cold, runs hone cold and runs
it again warm, all from process start to end; before each cold part the page cache is dropped (needs
root), and the program, its libraries and the folder's small files are read back. Reading and
computing go on at once, so a cold run should take little more than the longer of the two.
"""
import argparse
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--budget", default="64MB")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    options.packed = options.model / "hone_stream.bin"
    if not options.packed.exists():
        parser.error(f"--model: {options.packed} is not there; `hone convert --stream` makes it")
    return options


def small_files(options):
    """What a run reads beside the weights."""
    listed = subprocess.run(["ldd", options.hone], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in listed.split() if word.startswith("/")]
    own = [path for path in options.model.iterdir() if path.is_file() and path != options.packed]
    return [options.hone, *libraries, "/etc/ld.so.cache", options.input, *own]


def drop_cache(kept):
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    for path in kept:
        pathlib.Path(path).read_bytes()


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read_packed(options):
    buffer = bytearray(4 << 20)
    with open(options.packed, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def predict(options):
    subprocess.run([options.hone, "predict", "--quiet", "--model", str(options.model), "--input",
                    str(options.input), "--memory-budget", options.budget],
                   stdout=subprocess.DEVNULL, check=True)


def main():
    options = arguments()
    kept = small_files(options)
    reading, cold, warm = [], [], []
    for _ in range(options.rounds):
        drop_cache(kept)
        reading.append(timed(lambda: read_packed(options)))
        drop_cache(kept)
        cold.append(timed(lambda: predict(options)))
        warm.append(timed(lambda: predict(options)))
    read, out, kept_in = (statistics.median(times) for times in (reading, cold, warm))
    print("| | median s | least | most |\n|---|--:|--:|--:|")
    for name, times in (("reading the file", reading), ("hone, warm", warm), ("hone, cold", cold)):
        print(f"| {name} | {statistics.median(times):.3f} | {min(times):.3f} | {max(times):.3f} |")
    print(f"\ncold / max(reading, warm) = {out / max(read, kept_in):.3f}")


if __name__ == "__main__":
    main()
