"""Makes tests/train/goldens/lora-*: twenty steps of LoRA training of tiny configs in PEFT.

    tests/parity/lora_goldens.py

As training_goldens.py, with adapters that start from random values (PEFT's B starts as zeros, which
would hide half of the gradients of A), dropout 0. `start` holds the adapter before the first step,
the folder itself the one after the last, both as PEFT saves them, with every step's loss and
gradient norm and the logits of the last step's rows afterwards.
"""
import copy
import json
import pathlib

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, get_linear_schedule_with_warmup

from training_goldens import (CLIP, DECAY, EPSILON, MODELS, OUT, STEPS, WARMUP, batches, groups,
                              loss_of)

RATE = 1e-3
CASES = {
    "lora-bert": ("bert-words", dict(r=4, lora_alpha=8)),
    "lora-roberta-dense": ("roberta-regression",
                           dict(r=3, lora_alpha=5, target_modules=["query", "key", "dense"])),
    "lora-distilbert": ("distilbert-learned",
                        dict(r=2, lora_alpha=1.5, target_modules=["q_lin", "v_lin", "lin1"])),
    "lora-albert-all": ("albert-groups", dict(r=5, lora_alpha=5, target_modules="all-linear")),
}


def save(model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = get_peft_model_state_dict(model)
    save_file({name: tensor.detach().float().contiguous() for name, tensor in tensors.items()},
              folder / "adapter_model.safetensors")
    config = copy.copy(model.peft_config["default"])
    config.base_model_name_or_path = pathlib.Path(config.base_model_name_or_path).name
    config.save_pretrained(folder)


def make(name):
    folder, options = CASES[name]
    torch.manual_seed(0)
    base = AutoModelForSequenceClassification.from_pretrained(
        MODELS / folder, dtype=torch.float64, attn_implementation="eager")
    model = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", lora_dropout=0.0, **options),
                           autocast_adapter_dtype=False).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for field in ("dropout_prob", "dropout"):
            if isinstance(getattr(module, field, None), float):
                setattr(module, field, 0.0)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if "lora_" in parameter_name:
                # Held exactly by the fp32 file that hone starts from.
                parameter.copy_((0.2 * torch.randn_like(parameter)).float().double())
    out = OUT / name
    save(model, out / "start")
    config = base.config
    optimizer = torch.optim.AdamW(groups(model), lr=RATE, eps=EPSILON)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    steps = []
    for rows in batches(config, torch.Generator().manual_seed(7)):
        loss = loss_of(model, config, rows)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        steps.append({"rows": rows, "loss": loss.item(), "grad_norm": norm.item()})
    save(model, out)
    with torch.no_grad():
        logits = [model(input_ids=torch.tensor([row["ids"]])).logits[0].tolist() for row in rows]
    text = json.dumps({"base": folder, "steps": STEPS, "warmup": WARMUP, "rate": RATE,
                       "decay": DECAY, "clip": CLIP, "epsilon": EPSILON, "history": steps,
                       "logits": logits}, separators=(",", ":"))
    (out / "history.json").write_text(text + "\n")
    print(name, [round(s["loss"], 4) for s in steps[:3]], "...", round(steps[-1]["loss"], 4),
          sorted(get_peft_model_state_dict(model))[:3])


if __name__ == "__main__":
    for each in CASES:
        make(each)
