#!/usr/bin/env python3
"""What an explanation costs: hone's beside Captum's, LIME's and SHAP's, of one model and its texts.

    python bench/explain.py --model DIR --texts SST-2/dev.tsv [--count 40] [--few 8] [--rounds 3]
        [--threads 2]

DIR is a BERT-family classifier that transformers opens too. All compute in fp32. Integrated
gradients take 50 steps in Captum and in hone, whose shares must agree word by word before a time
counts; LIME takes 1,000 samples, SHAP its default. hone's time is that of a whole process less that
of one with a single text; the others' is without loading. Rounds go by turns, and the fastest of each
counts; LIME and SHAP run once, over --few texts. Bars are of processor time, which other programs
disturb less. Where DIR has a head that explains, `hone explain` without --method is a row, too.
Prints the tables of bench/results/explain.md. Needs torch, transformers, captum, lime and shap.
"""
import argparse
import csv
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import transformers
from captum.attr import LayerIntegratedGradients

STEPS = 50
LIME_SAMPLES = 1000
TOLERANCE = 1e-4
BF16_TOLERANCE = 0.1  # of a text's largest share
BF16 = ["--method", "ig", "--steps", str(STEPS), "--dtype", "bf16"]
# What must hold: times of the first over times of the second.
BARS = [("Captum", "hone --method ig", 3), ("Captum", "hone --method ig --dtype bf16", 3),
        ("LIME", "hone", 100), ("SHAP", "hone", 100), ("Captum", "hone", 20)]


class Spent:
    """Seconds by the clock and of processors, of this process or of programs that it ran."""

    def __init__(self, programs=False):
        self._of = resource.RUSAGE_CHILDREN if programs else resource.RUSAGE_SELF
        self._begin = self._now()

    def _now(self):
        usage = resource.getrusage(self._of)
        return np.array([time.perf_counter(), usage.ru_utime + usage.ru_stime])

    def seconds(self):
        return self._now() - self._begin


class Torch:
    def __init__(self, folder):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        embeddings = next(module for name, module in self.model.named_modules()
                          if name.endswith("embeddings"))
        self.gradients = LayerIntegratedGradients(lambda ids: self.model(input_ids=ids).logits,
                                                  embeddings)

    def probabilities(self, texts):
        texts, rows = [str(text) for text in texts], []
        with torch.no_grad():
            for first in range(0, len(texts), 64):
                batch = self.tokenizer(texts[first:first + 64], padding=True, truncation=True,
                                       return_tensors="pt")
                rows.append(torch.softmax(self.model(**batch).logits, -1).numpy())
        return np.concatenate(rows)

    def captum(self, text):
        coded = self.tokenizer(text, truncation=True, return_tensors="pt",
                               return_offsets_mapping=True, return_special_tokens_mask=True)
        ids, special = coded["input_ids"], coded["special_tokens_mask"].bool()
        baseline = torch.where(special, ids, self.tokenizer.pad_token_id)
        with torch.no_grad():
            answer = int(self.model(input_ids=ids).logits.argmax())
        shares = self.gradients.attribute(ids, baselines=baseline, target=answer, n_steps=STEPS)
        return list(zip(coded["offset_mapping"][0].tolist(), special[0].tolist(),
                        shares.sum(-1)[0].tolist()))


def hone_lines(arguments, texts, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps({"text": text}) + "\n" for text in texts))
        file.flush()
        spent = Spent(programs=True)
        done = subprocess.run([arguments.hone, "explain", "--model", arguments.model, "--input",
                               file.name, "--threads", str(arguments.threads), "--quiet", *options],
                              capture_output=True, text=True)
        seconds = spent.seconds()
    if done.returncode != 0:
        return None, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], seconds


def time_hone(arguments, texts, *options):
    """Seconds a text; None where the model has no such explanation."""
    lines, whole = hone_lines(arguments, texts, *options)
    if lines is None:
        return None
    _, single = hone_lines(arguments, texts[:1], *options)
    return (whole - single) / (len(texts) - 1)


def captum_words(peer, text, words):
    """What Captum's tokens sum to for each of hone's words."""
    sums = [0.0] * len(words)
    for (begin, end), special, share in peer.captum(text):
        if not special and words:
            common = [min(end, word["end"]) - max(begin, word["start"]) for word in words]
            sums[int(np.argmax(common))] += share
    return sums


def check(arguments, peer, texts):
    """Fails unless hone's words have the sums of Captum's tokens; gives the largest differences, in
    bf16 those of each text beside its largest share."""
    lines, said = hone_lines(arguments, texts, "--method", "ig", "--steps", str(STEPS))
    if lines is None:
        sys.exit(said.strip())
    halves, _ = hone_lines(arguments, texts, *BF16)
    worst, worst_half = 0, 0
    for text, line, half in zip(texts, lines, halves):
        words = line.get("phrases", [])
        sums = captum_words(peer, text, words)
        in_half = {word["start"]: word["share"] for word in half.get("phrases", [])}
        most = max(map(abs, sums), default=1)
        for word, expected in zip(words, sums):
            worst = max(worst, abs(word["share"] - expected) / max(1, abs(expected)))
            worst_half = max(worst_half, abs(in_half[word["start"]] - expected) / most)
        if worst > TOLERANCE or worst_half > BF16_TOLERANCE:
            sys.exit(f"{text!r}: shares differ from Captum's: {worst:.1e}, bf16 {worst_half:.1e}")
    return worst, worst_half


def time_lime(peer, texts):
    from lime.lime_text import LimeTextExplainer
    explainer = LimeTextExplainer(random_state=1)
    spent = Spent()
    for text in texts:
        explainer.explain_instance(text, peer.probabilities, num_samples=LIME_SAMPLES)
    return spent.seconds() / len(texts)


def time_shap(peer, texts):
    import shap
    explainer = shap.Explainer(peer.probabilities, shap.maskers.Text(peer.tokenizer), silent=True)
    spent = Spent()
    explainer(texts)
    return spent.seconds() / len(texts)


def time_all(arguments, peer, texts):
    times = {"hone --method ig": [], "hone --method ig --dtype bf16": [], "hone": [], "Captum": []}
    for _ in range(arguments.rounds):
        times["hone --method ig"].append(
            time_hone(arguments, texts, "--method", "ig", "--steps", str(STEPS)))
        times["hone --method ig --dtype bf16"].append(time_hone(arguments, texts, *BF16))
        if (own := time_hone(arguments, texts)) is not None:
            times["hone"].append(own)
        spent = Spent()
        for text in texts:
            peer.captum(text)
        times["Captum"].append(spent.seconds() / len(texts))
    few = texts[:arguments.few]
    times["LIME"], times["SHAP"] = [time_lime(peer, few)], [time_shap(peer, few)]
    return {name: np.min(values, axis=0) for name, values in times.items() if values}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/hone")
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", type=pathlib.Path, required=True, help="TSV with a column sentence")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--few", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with open(arguments.texts, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = [row["sentence"].strip() for row in rows[:arguments.count]]
    peer = Torch(arguments.model)
    worst, worst_half = check(arguments, peer, texts)
    print(f"{len(texts)} texts of {sum(len(text.split()) for text in texts) / len(texts):.1f} words; "
          f"shares within {worst:.1e} of Captum's, in bf16 within {worst_half:.1e} of the largest",
          flush=True)
    times = time_all(arguments, peer, texts)
    print("| explanation | ms a text | processor ms a text |\n|---|---|---|")
    for name, (clock, processor) in sorted(times.items(), key=lambda entry: entry[1][1]):
        print(f"| {name} | {1e3 * clock:.1f} | {1e3 * processor:.1f} |")
    missed = False
    for slow, fast, bar in BARS:
        if fast in times:
            ratio = times[slow][1] / times[fast][1]
            missed |= ratio < bar
            print(f"{fast} takes {ratio:.1f} times less processor time than {slow} (bar {bar})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
