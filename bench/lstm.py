"""Times the reference LSTM in hone and torch on one thread, in turns; writes bench/results/lstm.md.

    bench/lstm.py [--hone build/hone] [--rounds 3] [--seconds 4]
    bench/lstm.py --accuracy DIR --seeds 1,2,3 [--torch]

Batches of 128 texts of 100 words. A training step is forward, backward and SGD with momentum, with
dropout 0.5 and a weight of 0.2 on positives, as the reference has it. torch runs in this process
with one thread; hone in its own. Packed texts have drawn lengths of 4 to 64 words (23 on average):
torch gets them packed, and padded to 100. The figure is the median over the rounds of the ratio.

--accuracy trains on IMDB (DIR has its folder) with Adam at 2e-3 for 6 epochs, packed, constant rate,
no clipping, with hone; with --torch also the same in PyTorch on hone's words. Results are added to
lstm_accuracy.json, from which the table is made.
"""
import argparse
import json
import lzma
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/parity"))
BATCH, LENGTH = 128, 100
# Case: hone's name, whether it trains, torch's form, and the least ratio.
CASES = {
    "training, padded for padded": ("train-lstm-b128-len100", True, "full", 2.0),
    "inference, padded for padded": ("lstm-b128-len100", False, "full", 3.0),
    "training, packed for packed": ("train-lstm-sst2-b128", True, "packed", None),
    "training, packed for padded": ("train-lstm-sst2-b128", True, "padded", None),
    "inference, packed for packed": ("lstm-sst2-b128", False, "packed", None),
    "inference, one text": ("lstm-b1-len100", False, "one", None),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--accuracy", type=pathlib.Path, help="folder that has imdb/")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--torch", action="store_true", help="of --accuracy: train PyTorch's twin")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def hone_ms(options, case):
    out = subprocess.run([options.hone, "bench", case, "--json", "--threads", "1", "--seconds",
                          str(int(options.seconds))], capture_output=True, text=True, check=True).stdout
    answer = json.loads(out.splitlines()[-1])
    # A round of packed inference goes over all its batches.
    return 1000 * BATCH / answer["per_second"] if "sst2" in case else answer["median_ms"]


def drawn_lengths():
    """872 lengths like those of hone's -sst2- cases."""
    import torch
    generator = torch.Generator().manual_seed(2)
    return (23 + 11 * torch.randn(872, generator=generator)).round().clamp(4, 64).long()


class Torch:
    def __init__(self):
        import torch
        from lstm_module import Lstm
        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.module = Lstm()
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=2e-5, momentum=0.9)
        self.weight = torch.tensor(0.2)

    def batches(self, form):
        torch = self.torch
        if form in ("full", "one"):
            count = 1 if form == "one" else BATCH
            return [(torch.randint(1, 10002, (count, LENGTH)), torch.full((count,), LENGTH))]
        lengths, made = drawn_lengths(), []
        for first in range(0, len(lengths) - BATCH + 1, BATCH):
            own = lengths[first:first + BATCH]
            ids = torch.randint(1, 10002, (BATCH, LENGTH if form == "padded" else int(own.max())))
            ids[torch.arange(ids.shape[1])[None] >= own[:, None]] = 0
            made.append((ids, own))
        return made

    def ms(self, trains, form, seconds):
        torch, module = self.torch, self.module
        batches, times = self.batches(form), []
        module.train(trains)
        module.last = "padded_row" if form in ("full", "padded", "one") else "text"
        labels = torch.rand(BATCH, 1).round()

        def step(ids, lengths):
            if not trains:
                with torch.inference_mode():
                    return module(ids, lengths)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                module(ids, lengths), labels, pos_weight=self.weight)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            return loss

        step(*batches[0])
        begin = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            step(*batches[len(times) % len(batches)])
            times.append(1000 * (time.perf_counter() - start))
        return statistics.median(times)


def measure(options):
    peer, rows = Torch(), []
    for name in options.cases.split(","):
        case, trains, form, bar = CASES[name]
        own, other = [], []
        for _ in range(options.rounds):
            own.append(hone_ms(options, case))
            other.append(peer.ms(trains, form, options.seconds))
        ratio = statistics.median(b / a for a, b in zip(own, other))
        rows.append({"case": name, "hone_ms": statistics.median(own),
                     "torch_ms": statistics.median(other), "ratio": ratio, "at_least": bar})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def train_hone(options, seed):
    with tempfile.TemporaryDirectory() as folder:
        start = time.time()
        subprocess.run([options.hone, "train", "--model_type", "lstm", "--task_name", "imdb",
                        "--data", options.accuracy, "--output_dir", folder, "--seed", str(seed),
                        "--learning_rate", "2e-3", "--num_train_epochs", "6",
                        "--per_device_train_batch_size", "128", "--lr_scheduler_type", "constant",
                        "--max_grad_norm", "0", "--save_strategy", "no", "--quiet"], check=True)
        results = json.loads((pathlib.Path(folder) / "all_results.json").read_text())
        words = (pathlib.Path(folder) / "vocabulary.txt").read_text()
    return {"who": "hone", "seed": seed, "accuracy": results["eval_accuracy"],
            "f1": results["eval_f1"], "seconds": time.time() - start}, words


def read_imdb(path, places, stops):
    import torch
    from lstm_module import clean_words, encode
    with lzma.open(path, "rt", encoding="utf-8") as file:
        header = next(file).rstrip("\n").split("\t")
        rows = [line.rstrip("\n").split("\t") for line in file]
    text = next(i for i, name in enumerate(header) if name in ("sentence", "text", "review"))
    label = next(i for i, name in enumerate(header) if name in ("label", "sentiment"))
    coded = [encode(clean_words(row[text], stops), places, LENGTH, False) for row in rows]
    labels = [float(row[label] in ("1", "positive", "pos")) for row in rows]
    return (torch.tensor([c[0] for c in coded]), torch.tensor([c[1] for c in coded]),
            torch.tensor(labels)[:, None])


def train_torch(data, seed):
    import torch
    from lstm_module import Lstm
    (ids, lengths, labels), (test_ids, test_lengths, test_labels) = data
    torch.manual_seed(seed)
    start, module = time.time(), Lstm()
    optimizer = torch.optim.Adam(module.parameters(), lr=2e-3)
    for _ in range(6):
        module.train()
        for rows in torch.randperm(len(ids)).split(BATCH):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                module(ids[rows], lengths[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    module.eval()
    with torch.inference_mode():
        found = torch.cat([module(a, b) for a, b in zip(test_ids.split(500), test_lengths.split(500))])
    right, positive = (found > 0).float(), test_labels
    both = float((right * positive).sum())
    return {"who": "torch", "seed": seed, "accuracy": float((right == positive).float().mean()),
            "f1": 2 * both / float(right.sum() + positive.sum()), "seconds": time.time() - start}


def accuracy(options):
    file = options.output / "lstm_accuracy.json"
    rows = json.loads(file.read_text()) if file.exists() else []
    data = None
    for seed in [int(s) for s in options.seeds.split(",")]:
        if options.torch:
            if data is None:
                from lstm_module import FIRST, stop_words
                words = train_hone(options, seed)[1].split("\n")[:-1]
                places, stops = {w: FIRST + i for i, w in enumerate(words)}, stop_words()
                data = [read_imdb(options.accuracy / "imdb" / f"{split}.tsv.xz", places, stops)
                        for split in ("train", "test")]
            rows.append(train_torch(data, seed))
        else:
            rows.append(train_hone(options, seed)[0])
        print(json.dumps(rows[-1]), flush=True)
        file.write_text(json.dumps(rows, indent=1) + "\n")


def report(options):
    """lstm.md, from what lstm.json and lstm_accuracy.json hold."""
    lines = ["# The reference LSTM beside torch", ""]
    file = options.output / "lstm.json"
    if file.exists():
        found = json.loads(file.read_text())
        lines += [f"One thread, batches of {BATCH}, fp32; {found['machine']}, torch {found['torch']}. "
                  "Method: bench/lstm.py.", "",
                  "| case | hone ms | torch ms | ratio | at least |", "|---|---|---|---|---|"]
        for row in found["rows"]:
            bar = row["at_least"] or ""
            lines.append(f"| {row['case']} | {row['hone_ms']:.2f} | {row['torch_ms']:.2f} | "
                         f"{row['ratio']:.2f} | {bar} |")
    file = options.output / "lstm_accuracy.json"
    if file.exists():
        lines += ["", "IMDB, first 100 words, packed, Adam at 2e-3, 6 epochs: accuracy on the test set.",
                  "", "| | seeds | mean | standard error | F1 | seconds a run |",
                  "|---|---|---|---|---|---|"]
        rows = json.loads(file.read_text())
        for who in sorted({row["who"] for row in rows}):
            own = [row for row in rows if row["who"] == who]
            values = [100 * row["accuracy"] for row in own]
            error = statistics.stdev(values) / len(values) ** .5 if len(values) > 1 else float("nan")
            seconds = statistics.median(row["seconds"] for row in own)
            f1 = statistics.mean(row["f1"] for row in own)
            lines.append(f"| {who} | {len(own)} | {statistics.mean(values):.2f}% | {error:.2f} | "
                         f"{f1:.3f} | {seconds:.0f} |")
    (options.output / "lstm.md").write_text("\n".join(lines) + "\n")


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


if __name__ == "__main__":
    given = arguments()
    if given.accuracy:
        accuracy(given)
    else:
        measured = measure(given)
        import torch
        (given.output / "lstm.json").write_text(json.dumps(
            {"machine": machine(), "torch": torch.__version__, "rows": measured}, indent=1) + "\n")
    report(given)
