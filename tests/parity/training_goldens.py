"""Makes tests/train/goldens: twenty steps of training of each family's tiny config in PyTorch.

    tests/parity/training_goldens.py

Starts from the folders of tests/models/goldens; dropout 0, AdamW as Trainer groups it, linear
schedule with warm-up, clipping. Every step's loss and gradient norm, and the final weights.
"""
import json
import pathlib

import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, get_linear_schedule_with_warmup

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/models/goldens"
OUT = ROOT / "tests/train/goldens"
FOLDERS = ["bert-words", "roberta-regression", "xlm-roberta-multi-label", "distilbert-learned",
           "albert-groups", "electra-projected"]
STEPS, WARMUP, RATE, DECAY, CLIP = 20, 3, 3e-4, 0.05, 1.0
# Above the rounding of fp32 gradients, so that weights with hardly any gradient can be compared.
EPSILON = 1e-6


def groups(model):
    """Trainer's: no decay for biases and the weights of norms."""
    plain = {name for name, _ in model.named_parameters()
             if name.endswith("bias") or "layernorm" in name.lower() or "layer_norm" in name.lower()}
    named = list(model.named_parameters())
    return [{"params": [p for n, p in named if n not in plain], "weight_decay": DECAY},
            {"params": [p for n, p in named if n in plain], "weight_decay": 0.0}]


def batches(config, generator):
    """Ragged batches of token ids and labels."""
    labels = len(config.id2label)
    longest = min(12, config.max_position_embeddings - 4)
    first = 3
    for _ in range(STEPS):
        rows = []
        for _ in range(int(torch.randint(1, 5, (1,), generator=generator))):
            length = int(torch.randint(1, longest + 1, (1,), generator=generator))
            ids = torch.randint(first, config.vocab_size, (length,), generator=generator).tolist()
            if length > 3 and len(rows) == 1:
                ids[2] = config.pad_token_id  # a token like others, but for the embeddings' gradient
            if config.problem_type == "regression" or labels == 1:
                label = torch.randn(labels, generator=generator).tolist()
            elif config.problem_type == "multi_label_classification":
                label = torch.randint(0, 2, (labels,), generator=generator).float().tolist()
            else:
                label = int(torch.randint(0, labels, (1,), generator=generator))
            rows.append({"ids": ids, "label": label})
        yield rows


def loss_of(model, config, rows):
    """The mean over the samples; each runs alone, so that padding cannot matter."""
    total = 0
    for row in rows:
        logits = model(input_ids=torch.tensor([row["ids"]])).logits[0]
        label = row["label"]
        if isinstance(label, int):
            total += torch.nn.functional.cross_entropy(logits, torch.tensor(label))
        elif config.problem_type == "multi_label_classification":
            total += torch.nn.functional.binary_cross_entropy_with_logits(
                logits, torch.tensor(label, dtype=logits.dtype))
        else:
            total += torch.nn.functional.mse_loss(logits, torch.tensor(label, dtype=logits.dtype))
    return total / len(rows)


def make(folder):
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(
        MODELS / folder, dtype=torch.float64, attn_implementation="eager").train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("dropout_prob", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    config = model.config
    optimizer = torch.optim.AdamW(groups(model), lr=RATE, eps=EPSILON)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    generator = torch.Generator().manual_seed(7)
    steps = []
    for rows in batches(config, generator):
        loss = loss_of(model, config, rows)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        steps.append({"rows": rows, "loss": loss.item(), "grad_norm": norm.item()})
    out = OUT / folder
    out.mkdir(parents=True, exist_ok=True)
    save_file({n: p.detach().float().contiguous() for n, p in model.named_parameters()},
              out / "model.safetensors")
    text = json.dumps({"steps": STEPS, "warmup": WARMUP, "rate": RATE, "decay": DECAY,
                       "clip": CLIP, "epsilon": EPSILON, "history": steps}, separators=(",", ":"))
    (out / "history.json").write_text(text + "\n")
    print(folder, [round(s["loss"], 4) for s in steps[:3]], "...", round(steps[-1]["loss"], 4))


if __name__ == "__main__":
    for each in FOLDERS:
        make(each)
