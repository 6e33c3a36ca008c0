"""Makes tests/train/goldens/distill-*: twenty steps beside a teacher's logits, in PyTorch.

    tests/parity/distill_goldens.py

As training_goldens.py, but half and more of the loss is a teacher's: of classes T^2 times
kl_div(batchmean) of the softened distributions, of flags the same of each flag, of values mse_loss.
"""
import json

import torch
import torch.nn.functional as F
from transformers import AutoModelForSequenceClassification, get_linear_schedule_with_warmup

from training_goldens import (CLIP, DECAY, EPSILON, MODELS, OUT, RATE, STEPS, WARMUP, batches,
                              groups, loss_of)

WEIGHT, TEMPERATURE = 0.7, 3.0


def soft_loss(logits, teacher, config):
    t = TEMPERATURE
    if config.problem_type == "multi_label_classification":
        own = torch.stack([F.logsigmoid(logits / t), F.logsigmoid(-logits / t)])
        taught = torch.stack([torch.sigmoid(teacher / t), torch.sigmoid(-teacher / t)])
        return t * t * F.kl_div(own, taught, reduction="sum") / len(logits)
    if config.problem_type == "regression":
        return F.mse_loss(logits, teacher)
    return t * t * F.kl_div(F.log_softmax(logits / t, -1), F.softmax(teacher / t, -1),
                            reduction="sum")


def make(folder):
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(
        MODELS / folder, dtype=torch.float64, attn_implementation="eager").train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    config = model.config
    optimizer = torch.optim.AdamW(groups(model), lr=RATE, eps=EPSILON)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    generator = torch.Generator().manual_seed(7)
    draw = torch.Generator().manual_seed(8)
    steps = []
    for rows in batches(config, generator):
        loss = (1 - WEIGHT) * loss_of(model, config, rows)
        for row in rows:
            # Values that fp32 holds exactly, and some far apart.
            teacher = torch.randn(len(config.id2label), generator=draw).mul(256).round() / 32
            row["teacher"] = teacher.tolist()
            logits = model(input_ids=torch.tensor([row["ids"]])).logits[0]
            loss = loss + WEIGHT * soft_loss(logits, teacher.double(), config) / len(rows)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        steps.append({"rows": rows, "loss": loss.item(), "grad_norm": norm.item()})
    out = OUT / f"distill-{folder}"
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"steps": STEPS, "warmup": WARMUP, "rate": RATE, "decay": DECAY, "clip": CLIP,
                       "epsilon": EPSILON, "weight": WEIGHT, "temperature": TEMPERATURE,
                       "history": steps}, separators=(",", ":"))
    (out / "history.json").write_text(text + "\n")
    print(folder, [round(s["loss"], 4) for s in steps[:3]], "...", round(steps[-1]["loss"], 4))


if __name__ == "__main__":
    for each in ["bert-words", "roberta-regression", "xlm-roberta-multi-label"]:
        make(each)
