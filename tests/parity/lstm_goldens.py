"""Makes tests/train/goldens/runs/lstm-*: runs of a tiny LSTM in PyTorch, which `hone train` repeats.

    tests/parity/lstm_goldens.py

Both meanings of the last step, AdamW and SGD with momentum, and a weight of positives; dropout 0.
Every step takes all samples, so that their order does not matter. lstm.json has, for each run, flags,
the logits before the first step, and each step's loss, gradient norm and learning rate.
"""
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from torch.nn import functional

from lstm_module import Lstm, clean_words, encode, read_vocabulary, stop_words

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/train/goldens/runs"
WORDS = ["film", "good", "bad", "plot", "don't", "actor", "boring", "loved", "not", "scene", "été"]
SAMPLES = [("The film is good, and the plot: GOOD!", "yes"), ("bad", "no"),
           ("Don’t: the actor is boring... boring 'boring' film, not a good one", "no"),
           ("loved the unheard-of scene", "yes"), ("12 + 12 = 24", "no"),
           ("été; an actor I loved in every scene of the film, not bad", "yes"),
           ("plot plot plot plot plot plot plot plot plot plot plot plot", "no"),
           ("not bad, not boring", "yes")]
SIZES = {"vocab_size": len(WORDS) + 2, "embedding_size": 7, "hidden_size": 5, "num_layers": 2,
         "dropout": 0.0}
LENGTH, STEPS, CLIP = 9, 20, 1.0
ADAM = {"--learning_rate": "0.02", "--adam_epsilon": "1e-6"}
SGD = {"--learning_rate": "0.3", "--optim": "sgd", "--momentum": "0.9"}
CASES = [("lstm_text_adamw", "text", ADAM, None),
         ("lstm_padded_row_adamw", "padded_row", ADAM, "lstm_text_adamw"),
         ("lstm_text_sgd", "text", SGD, "lstm_text_adamw"),
         ("lstm_padded_row_sgd", "padded_row", SGD, "lstm_text_sgd"),
         ("lstm_positive_weight", "text", {**SGD, "--pos_weights": "0.2"}, "lstm_text_sgd")]


def folder_of(last):
    return OUT / ("lstm-" + last.replace("_", "-"))


def make_folder(last):
    """A folder with larger weights than new ones have, so that every gate does something."""
    folder = folder_of(last)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    torch.manual_seed(11)
    module = Lstm(**SIZES, last=last)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(0.7 * torch.randn_like(parameter))
        module.embedding.weight[0] = 0
    save_file(dict(module.named_parameters()), folder / "model.safetensors")
    (folder / "vocabulary.txt").write_text("".join(w + "\n" for w in WORDS))
    config = {"model_type": "lstm", **SIZES, "max_length": LENGTH, "last": last,
              "id2label": {"0": "no", "1": "yes"}}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def run(name, last, flags, unlike):
    folder = folder_of(last)
    module = Lstm.of_folder(folder)[0].double().train()
    places, stops = read_vocabulary(folder), stop_words()
    rows = [encode(clean_words(text, stops), places, LENGTH, last == "padded_row")
            for text, _ in SAMPLES]
    ids, lengths = torch.tensor([r[0] for r in rows]), [r[1] for r in rows]
    labels = torch.tensor([[float(label == "yes")] for _, label in SAMPLES], dtype=torch.float64)
    weight = torch.tensor(float(flags["--pos_weights"])) if "--pos_weights" in flags else None
    rate = float(flags["--learning_rate"])
    if flags.get("--optim") == "sgd":
        optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(module.parameters(), lr=rate, eps=1e-6, weight_decay=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    history = {"loss": [], "grad_norm": [], "learning_rate": []}
    first = None
    for _ in range(STEPS):
        logits = module(ids, lengths)
        first = logits.squeeze(1).tolist() if first is None else first
        loss = functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        history["loss"].append(loss.item())
        history["grad_norm"].append(norm.item())
        history["learning_rate"].append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    save_file({n: p.detach().float() for n, p in module.named_parameters()},
              OUT / f"{name}.safetensors")
    print(name, [round(x, 4) for x in history["loss"][:3]], "...", round(history["loss"][-1], 4))
    everywhere = {"--num_train_epochs": str(STEPS), "--per_device_train_batch_size": "8",
                  "--max_grad_norm": str(CLIP)}
    return {"name": name, "model": folder.name, "tokenizer": folder.name, "data": "lstm.jsonl",
            "flags": {**everywhere, **flags}, "unlike": unlike, "weights": True, "logits": first,
            **history}


if __name__ == "__main__":
    for each in ("text", "padded_row"):
        make_folder(each)
    lines = [json.dumps({"text": text, "label": label}) for text, label in SAMPLES]
    (OUT / "lstm.jsonl").write_text("\n".join(lines) + "\n")
    (OUT / "lstm.json").write_text(json.dumps([run(*case) for case in CASES], indent=1) + "\n")
