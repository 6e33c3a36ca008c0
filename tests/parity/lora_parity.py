"""Compares adapters with PEFT both ways: lora_parity.py [--hone build/hone] [MODEL_DIR ...]

Without folders: the golden models that have a tokenizer. For each,
  - PEFT makes adapters with random weights (several targets and ranks, a head for other labels);
    `hone predict` on the adapter's folder must give PEFT's logits;
  - `hone train` makes an adapter; PEFT must read from its folder all that it asks for, and give
    the logits that hone gives.
PEFT runs each input alone in double precision. The tolerance is 1e-5 of the largest value of the
answer (at least of 1).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model

from models_sentences import ORDINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = [ROOT / "tests/models/goldens" / name
           for name in ("bert-words", "roberta-regression", "albert-groups")]
TOLERANCE = 1e-5
TEXTS = [text for text in ORDINARY if text.strip() and "\n" not in text][:12]
TARGETS = [["query", "value"], ["key", "dense"], "all-linear"]


def hone_logits(program, model):
    run = subprocess.run([program, "predict", "--model", str(model), "--raw", "--quiet"],
                         input="\n".join(TEXTS) + "\n", capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"hone predict --model {model}: {run.stderr}")
    return [json.loads(line)["logits"] for line in run.stdout.splitlines()]


def peft_logits(model, tokenizer):
    model = model.eval().double()
    positions = model.config.max_position_embeddings
    if "roberta" in model.config.model_type:
        positions -= model.config.pad_token_id + 1
    limit = min(positions, tokenizer.model_max_length)
    with torch.no_grad():
        return [model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=limit))
                .logits[0].tolist() for text in TEXTS]


def compare(what, got, wanted):
    worst = max(abs(a - b) / max(1, *map(abs, row)) for answer, row in zip(got, wanted)
                for a, b in zip(answer, row))
    good = len(got) == len(wanted) and worst <= TOLERANCE
    print(f"{'ok ' if good else 'BAD'} {what}: {worst:.1e}")
    return good


def load_base(folder, labels):
    return transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=labels, ignore_mismatched_sizes=True, dtype=torch.float32)


def from_peft(program, folder, tokenizer):
    """PEFT's adapters in hone."""
    good = True
    own = transformers.AutoConfig.from_pretrained(folder).num_labels
    for number, targets in enumerate(TARGETS):
        labels = own if number != 1 else own + 3
        torch.manual_seed(number)
        model = get_peft_model(load_base(folder, labels), LoraConfig(
            task_type="SEQ_CLS", r=3 + number, lora_alpha=7, target_modules=targets,
            use_rslora=number == 1))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    parameter.normal_(0, 0.1)
        with tempfile.TemporaryDirectory() as out:
            model.save_pretrained(out)
            good &= compare(f"{folder.name}: PEFT's {targets}", hone_logits(program, out),
                            peft_logits(model, tokenizer))
    return good


def to_peft(program, folder, tokenizer):
    """hone's adapters in PEFT."""
    good = True
    for targets in TARGETS:
        with tempfile.TemporaryDirectory() as parent:
            out = parent + "/out"
            names = targets if isinstance(targets, str) else ",".join(targets)
            run = subprocess.run(
                [program, "train", "--model", str(folder), "--output_dir", out, "--max_steps", "20",
                 "--learning_rate", "1e-2", "--lora_rank", "4", "--lora_alpha", "8",
                 "--lora_dropout", "0.1", "--lora_target_modules", names, "--quiet"],
                capture_output=True, text=True)
            if run.returncode != 0:
                print(f"BAD {folder.name}: hone train: {run.stderr.strip().splitlines()[-1:]}")
                good = False
                continue
            good &= compare_saved(program, f"{folder.name}: hone's {names}", out, tokenizer)
    return good


def compare_saved(program, what, out, tokenizer):
    """Whether PEFT reads all that it asks for from `out`, and its logits are hone's."""
    config = PeftConfig.from_pretrained(out)
    labels = len(json.loads((pathlib.Path(out) / "config.json").read_text())["id2label"])
    base = load_base(config.base_model_name_or_path, labels)
    model = PeftModel.from_pretrained(base, out)
    result = model.load_adapter(out, "again")
    lost = [key for key in result.missing_keys if "again" in key] + result.unexpected_keys
    if lost:
        print(f"BAD {what}: PEFT finds no place for, or lacks {lost[:4]}")
        return False
    return compare(what, hone_logits(program, out), peft_logits(model, tokenizer))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--saved", help="a folder that hone train wrote: only compare that")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    good = True
    if arguments.saved:
        base = PeftConfig.from_pretrained(arguments.saved).base_model_name_or_path
        tokenizer = transformers.AutoTokenizer.from_pretrained(base)
        sys.exit(0 if compare_saved(arguments.hone, arguments.saved, arguments.saved, tokenizer)
                 else 1)
    for folder in arguments.folders or GOLDENS:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        good &= from_peft(arguments.hone, folder, tokenizer)
        good &= to_peft(arguments.hone, folder, tokenizer)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
