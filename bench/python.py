#!/usr/bin/env python3
"""The Python package beside the program: rates, import, size.

    bench/python.py [--python FILE] [--rounds N]    writes bench/results/python.md and .json

The package is the one that is installed for --python (default: what `make test-python` made). A
classifier with MiniLM's encoder labels the sentences of SST-2's dev set: the program reads and
writes files, Python has lists of strings; its four threads ask for 32 texts at a time. All take turns.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT.parent / "shared/data"))
COPIES = 2  # times that the 872 sentences are asked for in a row
IMPORTS = 15
BARS = {"predict": 0.95, "threads": 0.9, "import_ms": 60, "wheel_mb": 8}

WORKER = """
import sys, threading, time
import hone
model = hone.Model(sys.argv[1], device="cpu", threads=2)
texts = open(sys.argv[2]).read().splitlines()
model.predict(texts[:256])
def all_at_once():
    assert len(model.predict(texts)) == len(texts)
def by_threads():
    lots = iter([texts[i:i + 32] for i in range(0, len(texts), 32)])
    lock = threading.Lock()
    done = []
    def work():
        while True:
            with lock:
                lot = next(lots, None)
            if lot is None:
                return
            done.append(len(model.predict(lot)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert sum(done) == len(texts)
for line in sys.stdin:
    begin = time.perf_counter()
    {"all": all_at_once, "threads": by_threads}[line.strip()]()
    print(time.perf_counter() - begin, flush=True)
"""
IMPORT = "import time; begin = time.perf_counter(); import hone; print(time.perf_counter() - begin)"


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def program_seconds(program, model, texts, folder):
    begin = time.perf_counter()
    run(program, "predict", "--model", model, "--input", texts, "--output", folder / "answers",
        "--device", "cpu", "--threads", "2", "--quiet")
    return time.perf_counter() - begin


def classifier(program, folder):
    """MiniLM with a head of two classes: one step on the built-in reviews."""
    run(sys.executable, ROOT / "tools/get_minilm", ROOT / ".cache/minilm")
    run(program, "train", "--model", ROOT / ".cache/minilm", "--output_dir", folder / "model", "--quiet",
        "--max_steps", "1", "--max_train_samples", "64", "--max_eval_samples", "8", "--device", "cpu",
        "--save_strategy", "no", "--eval_strategy", "no")
    return folder / "model"


def measure(python, program, rounds):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = classifier(program, folder)
        rows = (DATA / "glue/SST-2/dev.tsv").read_text().splitlines()[1:]
        texts = [row.split("\t")[0] for row in rows] * COPIES
        (folder / "texts.txt").write_text("".join(text + "\n" for text in texts))
        (folder / "one.txt").write_text(texts[0] + "\n")
        seconds = {"program": [], "all": [], "threads": []}
        with subprocess.Popen([python, "-c", WORKER, model, folder / "texts.txt"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
            for _ in range(rounds):
                start = program_seconds(program, model, folder / "one.txt", folder)
                seconds["program"].append(
                    program_seconds(program, model, folder / "texts.txt", folder) - start)
                for way in ("all", "threads"):
                    print(way, file=worker.stdin, flush=True)
                    seconds[way].append(float(worker.stdout.readline()))
    rates = {way: len(texts) / statistics.median(taken) for way, taken in seconds.items()}
    imports = [float(run(python, "-c", IMPORT)) for _ in range(IMPORTS)]
    return {"texts": len(texts), "rounds": rounds, "texts_per_second": rates,
            "predict": rates["all"] / rates["program"], "threads": rates["threads"] / rates["all"],
            "import_ms": 1e3 * statistics.median(imports)}


def machine():
    names = {line.partition(":")[0].strip(): line.partition(":")[2].strip()
             for line in open("/proc/cpuinfo")}
    return f"{names['model name']}, {os.cpu_count()} cores; {platform.platform()}"


def page(found):
    rates = found["texts_per_second"]
    wheels = "".join(f"| wheel `{name}` | {size / 1e6:.2f} MB | at most {BARS['wheel_mb']} |\n"
                     for name, size in found["wheels"].items())
    return f"""# Python beside the program
{found['machine']}; hone {found['version']}; {found['date']}. Made by `bench/python.py --rounds {found['rounds']}`.

MiniLM's encoder with a head of two classes, fp32, 2 threads; SST-2's dev sentences, {found['texts']} in a row; the program and Python in turns, medians of {found['rounds']} rounds. The program's time is that of its whole process less that of a process with one text. Import is the median of {IMPORTS} processes, measured inside.

| | texts/s | ratio | bar |
|---|--:|--:|--:|
| `hone predict`, file to file | {rates['program']:.0f} | | |
| `Model.predict`, one list | {rates['all']:.0f} | {found['predict']:.2f} of the program | {BARS['predict']} |
| four threads, 32 texts a call | {rates['threads']:.0f} | {found['threads']:.2f} of one list | {BARS['threads']} |

| | | bar |
|---|--:|--:|
| `import hone` | {found['import_ms']:.0f} ms | under {BARS['import_ms']} |
{wheels}"""


def main():
    parser = argparse.ArgumentParser()
    built = [ROOT / f".cache/python/{name}3.11/bin/python" for name in ("peers", "quick")]
    parser.add_argument("--python", type=pathlib.Path,
                        default=next((path for path in built if path.exists()), built[0]))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    package = pathlib.Path(run(options.python, "-c", "import hone; print(hone.__file__)").strip()).parent
    found = measure(options.python, package / "bin/hone", options.rounds)
    found |= {"machine": machine(), "date": datetime.date.today().isoformat(),
              "version": run(options.python, "-c", "import hone; print(hone.__version__)").strip(),
              "wheels": {path.name: path.stat().st_size for path in sorted((ROOT / "dist").glob("hone-*.whl"))}}
    (RESULTS / "python.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "python.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
