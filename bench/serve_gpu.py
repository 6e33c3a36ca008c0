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
import random
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "serving"))

DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
GOLDEN = ROOT / "tests/models/goldens/bert-words"
BATCH = 32
# Sizes, the tokenizer's folder, and the share of the in-process rate that is the bar.
MODELS = {
    "roberta-base": {"family": "roberta", "hidden": 768, "layers": 12, "inner": 3072, "heads": 12,
                     "vocabulary": 50265, "positions": 514, "tokenizer": "roberta", "bar": 0.85},
    "minilm": {"family": "bert", "hidden": 384, "layers": 6, "inner": 1536, "heads": 12,
               "vocabulary": 30522, "positions": 512, "tokenizer": "bert-base-uncased",
               "bar": 0.6},
    "tiny": {"family": "bert", "hidden": 64, "layers": 2, "inner": 128, "heads": 2,
             "vocabulary": 30522, "positions": 512, "tokenizer": "bert-base-uncased", "bar": 0.6},
}


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


def read_texts():
    source = DATA / "glue/SST-2/dev.tsv"
    if source.exists():
        lines = source.read_text(encoding="utf-8").split("\n")[1:]
        return [line.split("\t")[0].strip() for line in lines if line], "SST-2 dev"
    draw = random.Random(1)
    texts = [" ".join(f"w{draw.randrange(20000)}" for _ in range(draw.randint(4, 42)))
             for _ in range(872)]
    return texts, "made-up words, of SST-2's lengths"


def tensors(size):
    """Names and shapes, as Hugging Face writes them."""
    prefix, hidden = size["family"], size["hidden"]

    def dense(name, rows, columns):
        return {f"{name}.weight": [rows, columns], f"{name}.bias": [rows]}

    def norm(name):
        return {f"{name}.weight": [hidden], f"{name}.bias": [hidden]}
    embeddings = f"{prefix}.embeddings"
    found = {f"{embeddings}.word_embeddings.weight": [size["vocabulary"], hidden],
             f"{embeddings}.position_embeddings.weight": [size["positions"], hidden],
             f"{embeddings}.token_type_embeddings.weight": [1 if prefix == "roberta" else 2, hidden],
             **norm(f"{embeddings}.LayerNorm")}
    for i in range(size["layers"]):
        layer = f"{prefix}.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            found |= dense(f"{layer}.attention.self.{part}", hidden, hidden)
        found |= dense(f"{layer}.attention.output.dense", hidden, hidden)
        found |= norm(f"{layer}.attention.output.LayerNorm")
        found |= dense(f"{layer}.intermediate.dense", size["inner"], hidden)
        found |= dense(f"{layer}.output.dense", hidden, size["inner"])
        found |= norm(f"{layer}.output.LayerNorm")
    if prefix == "roberta":
        return found | dense("classifier.dense", hidden, hidden) | dense("classifier.out_proj", 2,
                                                                         hidden)
    return found | dense("bert.pooler.dense", hidden, hidden) | dense("classifier", 2, hidden)


def write_weights(path, size):
    import numpy
    draw = numpy.random.default_rng(1)
    shapes, header, at = tensors(size), {}, 0
    for name, shape in shapes.items():
        count = int(numpy.prod(shape)) * 4
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes.items():
            if name.endswith("LayerNorm.weight"):
                values = numpy.ones(shape, numpy.float32)
            elif name.endswith(".bias"):
                values = numpy.zeros(shape, numpy.float32)
            else:
                values = 0.02 * draw.standard_normal(shape, numpy.float32)
            values.tofile(file)


def write_tokenizer(folder, size):
    """The model's own where there is one; else words, as the made-up texts have them."""
    own = DATA / "tokenizers" / size["tokenizer"]
    if own.is_dir():
        for file in own.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return f"{size['tokenizer']}'s"
    made = json.loads((GOLDEN / "tokenizer.json").read_text())
    vocabulary = made["model"]["vocab"]
    for i in range(size["vocabulary"] - len(vocabulary)):
        vocabulary[f"w{i}"] = len(vocabulary)
    (folder / "tokenizer.json").write_text(json.dumps(made))
    return "made up"


def write_model(folder, size):
    folder.mkdir()
    roberta = size["family"] == "roberta"
    config = {"model_type": size["family"], "hidden_size": size["hidden"],
              "architectures": ["RobertaForSequenceClassification" if roberta
                                else "BertForSequenceClassification"],
              "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"],
              "intermediate_size": size["inner"], "vocab_size": size["vocabulary"],
              "max_position_embeddings": size["positions"], "hidden_act": "gelu",
              "type_vocab_size": 1 if roberta else 2, "layer_norm_eps": 1e-5 if roberta else 1e-12,
              "pad_token_id": 1 if roberta else 0,
              "id2label": {"0": "negative", "1": "positive"},
              "label2id": {"negative": 0, "positive": 1}}
    (folder / "config.json").write_text(json.dumps(config))
    write_weights(folder / "model.safetensors", size)
    return write_tokenizer(folder, size)


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
                "served": served, "share": share, "bar": size["bar"],
                "passed": share >= size["bar"]}
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
