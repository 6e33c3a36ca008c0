"""hone serve on a GPU: requests of 32 texts, beside the same texts in one process.

    bench/serve_gpu.py [--build build-cuda] [--device cuda] [--dtype bf16] [--models roberta-base,minilm]

Needs hone, libhone_http.so, libhone_cuda.so and load_generator in the build's folder, and numpy.
Weights are random, made on the spot. Texts are SST-2's and tokenizers the models' own where
HONE_DATA has them; otherwise both are made up, and the page says so. In one process is
`hone predict`, its start left out; where in_process_bench is built, also calls of 32 texts one
after the other. Exit code 1 where a bar is missed. It takes about a minute.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "serving"))

from random_models import MODELS, read_texts, write_model  # noqa: E402

BATCH = 32
# The share of the in-process rate that is the bar.
BARS = {"roberta-base": 0.85, "minilm": 0.6, "tiny": 0.6}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-cuda")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--models", default="roberta-base,minilm", help=f"of {','.join(MODELS)}")
    parser.add_argument("--connections", default="8,16,32", help="numbers that are tried")
    parser.add_argument("--seconds", type=float, default=2, help="of each run that is timed")
    parser.add_argument("--copies", type=int, default=400, help="of the texts, for hone predict")
    parser.add_argument("--output", type=pathlib.Path, help="a file for the page")
    return parser.parse_args()


class Comparison:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.hone = str(options.build / "hone")
        self.texts, self.source = read_texts()
        os.environ["HONE_LOAD_GENERATOR"] = str(options.build / "load_generator")
        import load
        import servers
        self.load, self.servers = load, servers

    def placed(self):
        return ["--device", self.options.device, "--dtype", self.options.dtype]

    def predict_rate(self, model):
        """Texts a second of hone predict: a long file less a short one."""
        times = {}
        for copies in (self.options.copies // 8, self.options.copies):
            file = self.scratch / "texts.txt"
            file.write_text("".join(text + "\n" for text in self.texts) * copies)
            begin = time.monotonic()
            subprocess.run([self.hone, "predict", "--model", str(model), "--input", str(file),
                            "--output", "/dev/null", *self.placed()], check=True,
                           stderr=subprocess.DEVNULL)
            times[copies] = time.monotonic() - begin
        short, long = times
        return (long - short) * len(self.texts) / (times[long] - times[short])

    def calls_rate(self, model):
        bench = self.options.build / "in_process_bench"
        if not bench.exists():
            return None
        file = self.scratch / "calls.txt"
        file.write_text("".join(text + "\n" for text in self.texts))
        done = subprocess.run([str(bench), "--model", str(model), "--texts", str(file), "--batch",
                               str(BATCH), "--seconds", str(self.options.seconds), *self.placed()],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["texts_per_second"]

    def served(self, model):
        """Of each number of connections one run; then three of the one that answered most."""
        from process import Running
        server = self.servers.Hone(model, self.hone, [*self.placed(), "--quiet",
                                                      "--max-concurrent-requests", "8192"])
        bodies = self.load.Bodies(server, self.texts, BATCH)
        seconds = self.options.seconds
        with Running(server, {}) as running:
            tried = {n: self.load.closed(running.port, bodies, n, seconds)["texts_per_second"]
                     for n in map(int, self.options.connections.split(","))}
            chosen = max(tried, key=tried.get)
            runs = [self.load.closed(running.port, bodies, chosen, seconds) for _ in range(3)]
        runs.sort(key=lambda run: run["texts_per_second"])
        if any(run["ok"] != run["sent"] for run in runs):
            sys.exit(f"not all was answered: {runs}")
        return {"ready_s": running.ready_seconds, "connections": chosen, "tried": tried, **runs[1]}

    def measure(self, name):
        size = MODELS[name]
        folder = self.scratch / name
        tokenizer = write_model(folder, size)
        inside, calls, served = (self.predict_rate(folder), self.calls_rate(folder),
                                 self.served(folder))
        share = served["texts_per_second"] / inside
        made = {"model": name, "tokenizer": tokenizer, "predict": inside, "calls": calls,
                "served": served, "share": share, "bar": BARS[name],
                "passed": share >= BARS[name]}
        print(json.dumps(made), flush=True)
        return made


def page(options, source, rows):
    import platform
    lines = ["# hone serve on a GPU, requests of 32 texts", "",
             f"{options.device}, {options.dtype}, {len(os.sched_getaffinity(0))} cores, which the "
             f"generator of load shares, {platform.processor() or platform.machine()}; made by "
             f"`bench/serve_gpu.py {' '.join(sys.argv[1:])}`. {source}; random weights. Each "
             "number of connections was tried once; the figure is the median of three runs of the "
             "one that answered most.", "",
             "| model | tokenizer | hone predict texts/s | calls of 32, one after the other "
             "| hone serve texts/s | connections | p50 ms | p99 ms | of hone predict | at least | |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"]
    for row in rows:
        served = row["served"]
        calls = "" if row["calls"] is None else f"{row['calls']:.0f}"
        lines.append(
            f"| {row['model']} | {row['tokenizer']} | {row['predict']:.0f} | {calls} "
            f"| {served['texts_per_second']:.0f} | {served['connections']} "
            f"| {served['accepted']['p50_ms']:.3g} | {served['accepted']['p99_ms']:.3g} "
            f"| {row['share']:.2f} | {row['bar']} | {'pass' if row['passed'] else '**missed**'} |")
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(options, pathlib.Path(scratch))
        rows = [comparison.measure(name) for name in options.models.split(",")]
    text = page(options, comparison.source, rows)
    print(text)
    if options.output:
        options.output.write_text(text)
    return 0 if all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
