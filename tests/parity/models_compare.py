"""Compares hone with transformers on any model folder: models_compare.py MODEL_DIR

Classifiers are compared by their logits (hone predict --raw), bare encoders and
sentence-transformers folders by their embeddings (hone embed). transformers runs each input alone
in double precision, so the difference is hone's own error. The tolerance is 1e-4 of the largest
value of the answer (at least of 1): a correct fp32 encoder of 12 layers stayed below 1e-5, and
the tanh form of GELU in place of erf makes 2e-4 and more in the golden models. A wrong
layer_norm_eps can make less than this; the goldens with a large one are for that.
With --roundtrip the folder also goes through hone convert, and transformers must give the same
logits from the copy, bit for bit.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

from models_sentences import NASTY, ORDINARY, PAIRS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = {"fp32": 1e-4, "bf16": 1e-1}


class Reference:
    """transformers' answer for one input at a time."""

    def __init__(self, folder):
        self.folder = folder
        self.config = transformers.AutoConfig.from_pretrained(folder)
        kind = getattr(self.config, "position_embedding_type", "absolute")
        if kind != "absolute":
            sys.exit(f"{folder}: position_embedding_type {kind!r} is ignored by transformers "
                     f"{transformers.__version__}; its goldens are in tests/models/goldens")
        architecture = (self.config.architectures or ["AutoModel"])[0]
        self.classifier = architecture.endswith("ForSequenceClassification")
        self.model = getattr(transformers, architecture).from_pretrained(
            folder, dtype=torch.float32).eval().double()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.max_length = self.length_limit()
        self.pooling, self.normalize = self.sentence_settings()

    def length_limit(self):
        """The order of the command line's contract."""
        settings = self.folder / "sentence_bert_config.json"
        positions = self.config.max_position_embeddings
        if "roberta" in self.config.model_type:
            positions -= self.config.pad_token_id + 1
        if settings.exists():
            return min(json.loads(settings.read_text())["max_seq_length"], positions)
        own = self.folder / "tokenizer.json"
        truncation = json.loads(own.read_text()).get("truncation") if own.exists() else None
        limit = truncation["max_length"] if truncation else self.tokenizer.model_max_length
        return min(limit, positions)

    def sentence_settings(self):
        modules = self.folder / "modules.json"
        if not modules.exists():
            return "mean", False
        kinds = [m["type"].rsplit(".", 1)[-1] for m in json.loads(modules.read_text())]
        pooling = json.loads((self.folder / "1_Pooling" / "config.json").read_text())
        for name, key in (("cls", "cls_token"), ("max", "max_tokens"), ("mean", "mean_tokens")):
            if pooling.get(f"pooling_mode_{key}"):
                return name, "Normalize" in kinds
        sys.exit(f"{self.folder}/1_Pooling/config.json: no pooling mode that hone has")

    def answer(self, item):
        """The answer and the number of tokens.

        The tokenizer is called with lists, as data sets are mapped: called with strings it drops an
        empty text_pair. Type ids are asked for by the model's need: transformers 5 leaves them out
        for ALBERT, which was trained with them and had them in version 4.
        """
        pair = [item["text_pair"]] if "text_pair" in item else None
        types = getattr(self.config, "type_vocab_size", 1) > 1
        coded = self.tokenizer([item["text"]], pair, truncation="longest_first",
                               max_length=self.max_length, return_tensors="pt",
                               return_token_type_ids=types)
        with torch.inference_mode():
            made = self.model(**coded)
        if self.classifier:
            return made.logits[0], coded["input_ids"].shape[1]
        hidden = made.last_hidden_state[0]
        pooled = {"mean": hidden.mean(0), "cls": hidden[0],
                  "max": hidden.max(0).values}[self.pooling]
        if self.normalize:
            pooled = pooled / pooled.norm()
        return pooled, coded["input_ids"].shape[1]


def ask_hone(options, reference, items):
    """hone's answers to all items in one call, through JSON lines."""
    command = [options.hone, "predict" if reference.classifier else "embed", "--model",
               str(options.model), "--input", "-", "--format", "jsonl", "--dtype", options.dtype]
    command += ["--raw"] if reference.classifier else ["--pooling", reference.pooling]
    lines = "".join(json.dumps(item) + "\n" for item in items)
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(items):
        sys.exit(f"hone answered {len(answers)} of {len(items)} inputs")
    return answers


def show(item):
    text = repr(item["text"]) + (" + " + repr(item["text_pair"]) if "text_pair" in item else "")
    return text if len(text) < 60 else text[:57] + "..."


def compare(options, reference, items):
    key = "logits" if reference.classifier else "embedding"
    tolerance = options.tolerance or TOLERANCE[options.dtype]
    worst_absolute = worst_relative = 0.0
    wrong = 0
    for item, answer in zip(items, ask_hone(options, reference, items)):
        expected, tokens = reference.answer(item)
        got = torch.tensor(answer[key], dtype=torch.float64)
        if got.shape != expected.shape:
            sys.exit(f"{show(item)}: {got.numel()} values, expected {expected.numel()}")
        absolute = (got - expected).abs().max().item()
        relative = absolute / max(1.0, expected.abs().max().item())
        worst_absolute = max(worst_absolute, absolute)
        worst_relative = max(worst_relative, relative)
        problems = []
        if answer.get("tokens", tokens) != tokens:
            problems.append(f"{answer['tokens']} tokens, expected {tokens}")
        if not relative <= tolerance:  # also where it is not a number
            problems.append(f"differs by {absolute:.2e}")
        if problems:
            wrong += 1
            print(f"  {show(item)}: {'; '.join(problems)}")
    print(f"{options.model}: {len(items)} inputs, {key} {options.dtype}, largest difference "
          f"{worst_absolute:.2e} absolute, {worst_relative:.2e} relative "
          f"(tolerance {tolerance:g}): {f'FAIL, {wrong} wrong' if wrong else 'pass'}")
    return wrong == 0


def roundtrip(options, reference, items):
    """hone convert, then transformers on both folders in fp32."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "copy"
        command = [options.hone, "convert", "--model", str(options.model), "--output", str(copy)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        written = Reference(copy)
        worst = max((reference.answer(i)[0] - written.answer(i)[0]).abs().max().item()
                    for i in items)
        labels = written.config.id2label == reference.config.id2label
    passed = worst == 0.0 and labels
    print(f"{options.model}: written by hone and read by transformers: largest difference "
          f"{worst:.2e} (must be 0){'' if labels else ', label names differ'}: "
          f"{'pass' if passed else 'FAIL'}")
    return passed


def items_from(options, reference):
    if options.text:
        text = pathlib.Path(options.text).read_text(encoding="utf-8", errors="replace")
        return [{"text": line} for line in text.rstrip("\n").split("\n")]
    items = [{"text": text} for text in ORDINARY + NASTY]
    if reference.classifier:
        items += [{"text": first, "text_pair": second} for first, second in PAIRS]
    return items


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--text", help="a file of sentences in place of the built-in list")
    parser.add_argument("--hone", default=os.environ.get("HONE", str(ROOT / "build/hone")))
    parser.add_argument("--dtype", default="fp32", choices=TOLERANCE)
    parser.add_argument("--tolerance", type=float, help="in place of the dtype's own")
    parser.add_argument("--roundtrip", action="store_true")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    reference = Reference(options.model)
    items = items_from(options, reference)
    passed = compare(options, reference, items)
    if options.roundtrip:
        passed = roundtrip(options, reference, items) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
