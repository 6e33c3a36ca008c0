"""Makes tests/train/goldens/runs: whole training runs in PyTorch, which `hone train` repeats.

    tests/parity/run_goldens.py

A tiny BERT without dropout, eight samples, and one run for each flag of the recipe. Every step of a
run takes all samples (three batches that are accumulated), so that their order does not matter.
runs.json has the flags and, for each step, loss, gradient norm before clipping and learning rate;
<run>.safetensors of some has the weights behind the last step. Exits are trained as their papers say: PABEE's
loss is the mean of the layers' losses weighed by their depth (Zhou et al., 2020, formula 6), and
DeeBERT's second stage takes the sum of the off-ramps' losses and trains them alone (Xin et al.,
2020, section 3.2).
"""
import json
import math
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, get_scheduler

from models_tokenizers import WORDPIECES, wordpiece
from run_cases import CASES, EPOCHS, SAMPLES

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/train/goldens/runs"
LABELS = ["bad", "good", "odd"]
LAYERS = 3
# Two recipes differ by more than the tolerance of the test, or a run proves nothing.
LEAST_DIFFERENCE = 1e-3


def start_model():
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDPIECES), hidden_size=8, num_hidden_layers=LAYERS, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=16, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, id2label=dict(enumerate(LABELS)),
        label2id={name: i for i, name in enumerate(LABELS)})
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = name.endswith("LayerNorm.weight")
            parameter.copy_(0.3 * torch.randn_like(parameter) + (1.0 if norm else 0.0))
    return model


class Exits(torch.nn.Module):
    """The heads behind the layers, on a model whose own pooler PABEE's share."""

    def __init__(self, model, method):
        super().__init__()
        hidden = model.config.hidden_size
        self.method, self.bert, self.classifier = method, model.bert, model.classifier
        torch.manual_seed(5)
        count = LAYERS if method == "pabee" else LAYERS - 1

        def heads(out):
            return torch.nn.ModuleList(torch.nn.Linear(hidden, out) for _ in range(count))

        self.classifiers = heads(len(LABELS))
        if method == "deebert":
            self.poolers = heads(hidden)

    def trained(self):
        if self.method == "pabee":
            return [(n, p) for n, p in self.named_parameters() if not n.startswith("classifier.")]
        return [(n, p) for n, p in self.named_parameters()
                if n.startswith(("poolers", "classifiers"))]

    def loss(self, ids, loss_of):
        firsts = [torch.cat([self.bert(row, output_hidden_states=True).hidden_states[1 + i][:, 0]
                             for row in ids]) for i in range(LAYERS)]
        losses = []
        for i, classifier in enumerate(self.classifiers):
            pooler = self.bert.pooler.dense if self.method == "pabee" else self.poolers[i]
            losses.append(loss_of(classifier(torch.tanh(pooler(firsts[i])))))
        if self.method == "deebert":
            return sum(losses)
        return sum((i + 1) * loss for i, loss in enumerate(losses)) / sum(range(1, LAYERS + 1))

    def tensors(self):
        """Under the names that the papers' code gives them."""
        named = {}
        for name, parameter in self.named_parameters():
            parts = name.split(".")
            if self.method == "deebert" and parts[0] in ("poolers", "classifiers"):
                module = "pooler.dense" if parts[0] == "poolers" else "classifier"
                name = f"bert.encoder.highway.{parts[1]}.{module}.{parts[2]}"
            if self.method == "deebert" or parts[0] != "classifier":
                named[name] = parameter
        return named


class Plain(torch.nn.Module):
    def __init__(self, model, freeze):
        super().__init__()
        self.model, self.freeze = model, freeze

    def trained(self):
        return [(n, p) for n, p in self.model.named_parameters()
                if not self.freeze or not n.startswith(self.freeze)]

    def loss(self, ids, loss_of):
        return loss_of(torch.cat([self.model(row).logits for row in ids]))

    def tensors(self):
        return dict(self.model.named_parameters())


def loss_function(case):
    if case.multi_label:
        targets = torch.tensor([[float(name in s["labels"]) for name in LABELS] for s in SAMPLES],
                               dtype=torch.float64)
        weights = case.weights("--pos_weights")
        return lambda logits: functional.binary_cross_entropy_with_logits(
            logits, targets, pos_weight=weights)
    classes = torch.tensor([LABELS.index(s["label"]) for s in SAMPLES])
    weights = case.weights("--class_weights")
    if case.flags.get("--class_weights") == "balanced":
        counts = torch.bincount(classes).double()
        weights = len(SAMPLES) / (len(LABELS) * counts)
    return lambda logits: functional.cross_entropy(
        logits, classes, weight=weights,
        label_smoothing=case.number("--label_smoothing_factor", 0))


def optimizer_for(case, named):
    """Trainer's groups: no decay for biases and the weights of norms."""
    plain = [p for n, p in named if n.endswith("bias") or "LayerNorm" in n]
    decayed = [p for n, p in named if not (n.endswith("bias") or "LayerNorm" in n)]
    groups = [{"params": decayed, "weight_decay": case.number("--weight_decay", 0)},
              {"params": plain, "weight_decay": 0.0}]
    rate = case.number("--learning_rate")
    if case.flags.get("--optim") == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=case.number("--momentum", 0),
                               nesterov="--nesterov" in case.flags)
    betas = (case.number("--adam_beta1", 0.9), case.number("--adam_beta2", 0.999))
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=case.number("--adam_epsilon"))


def schedule_for(case, optimizer, warmup):
    """A step is an epoch here."""
    name = case.flags.get("--lr_scheduler_type", "linear")
    if name == "step":
        return torch.optim.lr_scheduler.StepLR(optimizer, int(case.number("--lr_step_size")),
                                               case.number("--lr_gamma"))
    if name == "one_cycle":
        # The last step() asks for a rate behind the last one.
        factor = one_cycle_factors(EPOCHS)
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factor[min(step, EPOCHS - 1)])
    return get_scheduler(name, optimizer, warmup, EPOCHS)


def one_cycle_factors(steps):
    """OneCycleLR's rates; as factors, since it sets momentum too unless told otherwise."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=steps,
                                                   cycle_momentum=False)
    factors = []
    for step in range(steps):
        factors.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < steps:
            schedule.step()
    return factors


def run(case, tokenizer):
    model = start_model().double()
    trainee = Exits(model, case.exits).double() if case.exits else Plain(model, case.frozen)
    if case.exits:
        save(trainee.tensors(), OUT / case.exits / "model.safetensors")
        for tensor in trainee.tensors().values():  # as the fp32 file has them
            tensor.data = tensor.data.float().double()
    ids = [torch.tensor([tokenizer(s["text"])["input_ids"]]) for s in SAMPLES]
    loss_of, named = loss_function(case), trainee.trained()
    for _, parameter in trainee.named_parameters():
        parameter.requires_grad_(False)
    for _, parameter in named:
        parameter.requires_grad_(True)
    optimizer = optimizer_for(case, named)
    warmup = int(case.number("--warmup_steps", 0)) or math.ceil(
        case.number("--warmup_ratio", 0) * EPOCHS)
    schedule = schedule_for(case, optimizer, warmup)
    clip = case.number("--max_grad_norm", 1.0)
    history = {"loss": [], "grad_norm": [], "learning_rate": []}
    for _ in range(EPOCHS):
        loss = trainee.loss(ids, loss_of)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_([p for _, p in named], clip if clip > 0 else 1e30)
        history["loss"].append(loss.item())
        history["grad_norm"].append(norm.item())
        history["learning_rate"].append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    if case.weights_too:
        save(trainee.tensors(), OUT / f"{case.name}.safetensors")
    return history


def save(tensors, path):
    save_file({n: p.detach().float().contiguous() for n, p in tensors.items()}, path)


def write_folders():
    model = start_model()
    folder = OUT / "model"
    folder.mkdir(parents=True)
    model.config.save_pretrained(folder)
    save(dict(model.named_parameters()), folder / "model.safetensors")
    tokenizer = wordpiece(folder, model.config.max_position_embeddings)
    for method in ("pabee", "deebert"):
        (OUT / method).mkdir()
        shutil.copy(folder / "config.json", OUT / method)
    for name, label in (("train.jsonl", "label"), ("train-flags.jsonl", "labels")):
        lines = [json.dumps({"text": s["text"], label: s[label]}) + "\n" for s in SAMPLES]
        (OUT / name).write_text("".join(lines))
    return tokenizer


def check_difference(case, history, histories):
    """A run that another recipe gives as well would hold nothing."""
    if case.unlike is None:
        return
    most = max(abs(a - b) for a, b in zip(history["loss"], histories[case.unlike]["loss"]))
    assert most > LEAST_DIFFERENCE, (case.name, most)


def main():
    torch.set_num_threads(1)
    for old in OUT.glob("[!l]*"):  # what begins with lstm is lstm_goldens.py's
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    tokenizer = write_folders()
    histories = {}
    for case in CASES:
        histories[case.name] = run(case, tokenizer)
        check_difference(case, histories[case.name], histories)
        losses = [round(loss, 4) for loss in histories[case.name]["loss"]]
        print(case.name, losses[:3], "...", losses[-1], flush=True)
    runs = [{"name": case.name, "model": case.exits or "model", "unlike": case.unlike,
             "data": "train-flags.jsonl" if case.multi_label else "train.jsonl",
             "flags": case.flags, "weights": case.weights_too, **histories[case.name]}
            for case in CASES]
    (OUT / "runs.json").write_text(
        "[" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in runs) + "]\n")


if __name__ == "__main__":
    main()
