"""Two ranks of one thread beside two independent runs and torch's DistributedDataParallel.

    bench/ddp.py [--cases minilm,bert-base] [--rounds 3] [--steps N] [--python PY] [--seconds S]

A step is forward, backward, clipping and AdamW over a batch a rank, fp32, random weights. Each round
trains as two ranks, as two processes that know nothing of each other, and as two ranks of torch over
gloo (where the Python has torch and transformers), one after the other; figures are medians over the
rounds of ratios. With --seconds a case begins no round that would not end within them, but the first.
The losses of the two ranks are compared with those of one process on the same
global batches before anything is timed.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
# Case: hidden, intermediate, layers, heads; samples of a rank; tokens of a sample; steps.
CASES = {"minilm": ((384, 1536, 6, 12), 64, 128, 4), "bert-base": ((768, 3072, 12, 12), 16, 128, 3)}
LEAST_OF_ALONE, LEAST_OF_TORCH = 0.95, 2.0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--python", default=sys.executable, help="one that has torch")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all rounds of a case")
    parser.add_argument("--no_torch", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, help="a file of JSON, to which results are added")
    return parser.parse_args()


def config_of(shape):
    hidden, intermediate, layers, heads = shape
    return {"model_type": "bert", "architectures": ["BertForSequenceClassification"],
            "vocab_size": 30522, "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": intermediate, "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "pad_token_id": 0, "initializer_range": 0.02}


def write_inputs(folder, shape, length, samples):
    """A config, and reviews of `length` tokens each: whole words of the vocabulary, at random."""
    (folder / "config.json").write_text(json.dumps(config_of(shape)))
    vocabulary = (DATA / "tokenizers/bert-base-uncased/vocab.txt").read_text(encoding="utf-8").split("\n")
    words = [word for word in vocabulary[1996:30000] if word.isascii() and word.isalpha()]
    choose = random.Random(1)
    with open(folder / "train.csv", "w", encoding="utf-8") as file:
        file.write("sentence,label\n")
        for i in range(samples):
            file.write(" ".join(choose.choice(words) for _ in range(length - 2)) + f",{i % 2}\n")


def command(options, folder, output, batch, steps, more):
    shutil.rmtree(folder / output, ignore_errors=True)
    return [options.hone, "train", "--config_name", str(folder / "config.json"), "--tokenizer_name",
            str(DATA / "tokenizers/bert-base-uncased"), "--train_file", str(folder / "train.csv"),
            "--output_dir", str(folder / output), "--per_device_train_batch_size", str(batch),
            "--max_steps", str(steps), "--max_seq_length", "128", "--do_train", "--save_strategy",
            "no", "--eval_strategy", "no", "--logging_steps", "1", "--learning_rate", "2e-5",
            "--threads", "1", "--device", "cpu", "--quiet", "--json", *more]


def run_all(commands):
    """Runs commands side by side; gives what each printed."""
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
               for c in commands]
    results = []
    for process, words in zip(running, commands):
        out, err = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit code {process.returncode}: {err.strip()}")
        results.append(json.loads(out.splitlines()[-1]))
    return results


def losses(folder):
    with open(folder / "log.jsonl", encoding="utf-8") as file:
        return [entry["loss"] for entry in map(json.loads, file) if "loss" in entry]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def torch_rate(options, name, batch, length, steps):
    done = subprocess.run([options.python, str(ROOT / "bench/ddp_torch.py"), name, str(batch),
                           str(length), "2", str(steps), str(free_port())],
                          capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"ddp_torch.py: {done.stderr.strip().splitlines()[-1]}")
    return 2 * batch / statistics.median(json.loads(done.stdout)["seconds"])


def compare(options, name, folder):
    shape, batch, length, steps = CASES[name]
    steps = options.steps or steps
    write_inputs(folder, shape, length, 2 * batch * 2)
    check = run_all([command(options, folder, "check", 4, 2, ["--nproc-per-node", "2"])])[0]
    run_all([command(options, folder, "one", 8, 2, [])])
    apart = max(abs(a - b) for a, b in zip(losses(folder / "check"), losses(folder / "one")))
    if apart > 1e-5:
        sys.exit(f"{name}: losses of two ranks and of one differ by {apart}")
    rounds, begin = [], time.monotonic()
    while len(rounds) < options.rounds:
        spent = time.monotonic() - begin
        if rounds and spent + spent / len(rounds) > options.seconds:
            break
        both = run_all([command(options, folder, "both", batch, steps, ["--nproc-per-node", "2"])])[0]
        alone = run_all([command(options, folder, f"alone-{i}", batch, steps, ["--seed", str(i)])
                         for i in range(2)])
        rounds.append({
            "ranks_per_second": both["train_samples_per_second"],
            "alone_per_second": sum(each["train_samples_per_second"] for each in alone),
            "communication": both["communication"], "seconds": both["train_runtime"]})
        if not options.no_torch:
            rounds[-1]["torch_per_second"] = torch_rate(options, name, batch, length, min(steps, 3))
    ratio = lambda other: statistics.median(r["ranks_per_second"] / r[other] for r in rounds)
    result = {"case": name, "batch": batch, "length": length, "steps": steps, "apart": apart,
              "check": check["communication"], "rounds": rounds, "of_alone": ratio("alone_per_second")}
    line = f"{name}, {len(rounds)} rounds: {result['of_alone']:.3f} of two runs side by side (at least {LEAST_OF_ALONE})"
    if not options.no_torch:
        result["of_torch"] = ratio("torch_per_second")
        line += f", {result['of_torch']:.2f} times torch's DDP (at least {LEAST_OF_TORCH})"
    print(line, flush=True)
    return result


def main():
    options = arguments()
    results = []
    for name in options.cases.split(","):
        with tempfile.TemporaryDirectory() as folder:
            results.append(compare(options, name, pathlib.Path(folder)))
    if options.output:
        old = json.loads(options.output.read_text()) if options.output.exists() else []
        options.output.write_text(json.dumps(old + results, indent=1) + "\n")


if __name__ == "__main__":
    main()
