"""Makes tests/infer/gradient_goldens.json, or with --check compares it.

For golden folders that have a tokenizer and a head: what Captum's LayerIntegratedGradients says of
each token, from the embeddings of padding tokens to those of the text, in double precision. Needs
torch, transformers and captum.
"""
import argparse
import json
import pathlib
import sys

import torch
import transformers
from captum.attr import LayerIntegratedGradients

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE.parent / "models" / "goldens"
OUT = HERE.parent / "infer" / "gradient_goldens.json"
FOLDERS = ["bert-words", "roberta-regression", "albert-groups", "electra-projected"]
STEPS = [50, 200]


def embeddings_of(model):
    return next(module for name, module in model.named_modules() if name.endswith("embeddings"))


def explained(folder, golden):
    path = GOLDENS / folder
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        path, dtype=torch.float64, attn_implementation="eager").eval()
    gradients = LayerIntegratedGradients(lambda ids: model(input_ids=ids).logits,
                                         embeddings_of(model))
    rows = []
    for each in golden:
        ids = torch.tensor([each["ids"]])
        baseline = torch.full_like(ids, model.config.pad_token_id)
        baseline[:, [0, -1]] = ids[:, [0, -1]]  # the special tokens of one text
        with torch.no_grad():
            logits, before = model(input_ids=ids).logits[0], model(input_ids=baseline).logits[0]
        answer = int(logits.argmax())
        row = {"text": each["text"], "answer": answer, "difference": float(logits[answer] - before[answer])}
        for steps in STEPS:
            shares = gradients.attribute(ids, baselines=baseline, target=answer, n_steps=steps)
            row[f"shares_{steps}"] = [float(f"{v:.9g}") for v in shares.sum(-1)[0].tolist()]
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    torch.set_num_threads(1)
    made = {}
    for folder in FOLDERS:
        golden = json.loads((GOLDENS / folder / "goldens.json").read_text())["texts"]
        made[folder] = explained(folder, [row for row in golden if "text_pair" not in row][:4])
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n"
    if not check:
        OUT.write_text(text)
        return 0
    known = json.loads(OUT.read_text())
    for folder, rows in made.items():
        for row, old in zip(rows, known[folder]):
            for steps in STEPS:
                a, b = row[f"shares_{steps}"], old[f"shares_{steps}"]
                if any(abs(x - y) > 1e-6 * max(1, abs(y)) for x, y in zip(a, b)):
                    print(f"{folder}: {row['text']!r}: differs")
                    return 1
    return 0


sys.exit(main())
