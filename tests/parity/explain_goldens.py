"""Makes tests/train/goldens/explain-*: logits and twenty training steps of a self-explaining head.

    tests/parity/explain_goldens.py

The head is written here once more, in PyTorch and in double, over transformers' encoders: each text
runs alone, so that neither padding nor the rest of a batch can matter.
"""
import json
import pathlib

import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy, linear
from transformers import AutoModel, get_linear_schedule_with_warmup

from training_goldens import CLIP, DECAY, EPSILON, MODELS, OUT, RATE, STEPS, WARMUP, groups

TREE_WEIGHT, NEIGHBOURS, CONCEPTS, TEXTS = 0.1, 3, 14, 12
FOLDERS = {"bert-words": 5, "roberta-regression": 3}  # the heads that divide the width


class SelfExplaining(torch.nn.Module):
    """The encoder with its family's head, and the parameters of the self-explaining one by the
    names that a folder has."""

    def __init__(self, folder, heads):
        super().__init__()
        weights = load_file(MODELS / folder / "model.safetensors")
        self.family = folder.split("-")[0]
        self.encoder = AutoModel.from_pretrained(MODELS / folder, dtype=torch.float64,
                                                 attn_implementation="eager")
        self.heads, self.hidden = heads, self.encoder.config.hidden_size
        self.own = torch.nn.ParameterDict()
        if self.family == "roberta":
            self.encoder.pooler = None
        hidden, units = self.hidden, max(1, self.hidden // 2)

        def add(name, out, width, std=0.4):
            for end, shape in (("weight", (out, width)), ("bias", (out,))):
                drawn = torch.normal(0, std, shape).float().double()
                self.own[f"{name}.{end}".replace(".", "/")] = torch.nn.Parameter(drawn)

        if self.family == "roberta":
            add("classifier.dense", hidden, hidden)
            add("classifier.out_proj", 2, hidden)
        else:
            add("classifier", 2, hidden)
            for end in ("weight", "bias"):
                stored = weights[f"classifier.{end}"].double()
                self.own[f"classifier/{end}"] = torch.nn.Parameter(stored)
        for part in ("query", "key", "value", "out"):
            add(f"explain.attention.{part}", hidden, hidden)
        add("explain.local", 2, hidden)
        add("explain.global", 2, hidden)
        add("parser.dense", 4 * units, hidden)
        add("parser.out", 1, units)

    def apply(self, name, x):
        key = name.replace(".", "/")
        return linear(x, self.own[f"{key}/weight"], self.own[f"{key}/bias"])

    def folder_weights(self):
        prefix = f"{self.family}."
        out = {prefix + n: p for n, p in self.encoder.named_parameters()}
        out |= {n.replace("/", "."): p for n, p in self.own.items()}
        return {n: p.detach().float().contiguous() for n, p in out.items()}

    def sentence(self, rows):
        if self.family == "roberta":
            return torch.tanh(self.apply("classifier.dense", rows[0]))
        return torch.tanh(linear(rows[0], self.encoder.pooler.dense.weight,
                                 self.encoder.pooler.dense.bias))

    def forward(self, text, concepts, own):
        """Gives the logits, and the tree's loss; own concepts are not found."""
        rows = self.encoder(input_ids=torch.tensor([text["ids"]])).last_hidden_state[0]
        u = self.sentence(rows)
        label = self.apply("classifier.out_proj" if self.family == "roberta" else "classifier", u)
        local = torch.zeros(2, dtype=torch.float64)
        if text["phrases"]:
            starts = text["leaves"] + [len(text["ids"]) - 1]
            means = [rows[starts[a]:starts[b]].mean(0) for a, b in text["phrases"]]
            z = [self.apply("explain.local", torch.relu(mean) - u) for mean in means]
            local = torch.stack(z).mean(0)
        found = retrieve(u.detach(), concepts, own)
        members = torch.stack([u] + [concepts[i] for i in found])
        split = lambda x: x.view(-1, self.heads, self.hidden // self.heads)
        q = split(self.apply("explain.attention.query", u[None]))
        k = split(self.apply("explain.attention.key", members))
        v = split(self.apply("explain.attention.value", members))
        scores = torch.einsum("ihd,jhd->hij", q, k) / (self.hidden // self.heads) ** 0.5
        context = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).reshape(self.hidden)
        wide = self.apply("explain.global", self.apply("explain.attention.out", context))
        logits = label + 0.1 * local + 0.1 * wide
        return logits, self.tree_loss(rows, text) if text["given"] else torch.zeros(())

    def tree_loss(self, rows, text):
        leaves, last = text["leaves"], len(text["ids"]) - 1
        n = len(leaves)
        behind = leaves + [last]
        before = [0] + [leaf - 1 for leaf in leaves[1:]] + [max(leaves[-1], last - 1)]
        shares = self.apply("parser.dense", rows)
        units = shares.shape[1] // 4
        part = lambda row, i: shares[row, i * units:(i + 1) * units]
        score = {}
        for i in range(n):
            for j in range(i + 2, n + 1):
                span = (part(behind[i], 0) + part(before[i], 1) + part(before[j], 2)
                        + part(behind[j], 3))
                score[i, j] = self.apply("parser.out", torch.relu(span))[0]
        zero = torch.zeros((), dtype=torch.float64)
        child = {(i, i + 1): zero for i in range(n)}
        sequence, inner = dict(child), {}
        for width in range(2, n + 1):
            for i in range(n + 1 - width):
                j = i + width
                inner[i, j] = torch.logsumexp(torch.stack(
                    [sequence[i, k] + child[k, j] for k in range(i + 1, j)]), 0)
                child[i, j] = inner[i, j] + score[i, j]
                sequence[i, j] = torch.logaddexp(inner[i, j], child[i, j])
        total = inner[0, n] if n > 1 else zero
        return total - sum((score[tuple(span)] for span in text["phrases"]), zero)


def retrieve(u, concepts, own):
    mean = concepts.mean(0)
    unit = lambda x: (x - mean) / (x - mean).norm(dim=-1, keepdim=True)
    scores = unit(concepts) @ unit(u)
    scores[own] = -float("inf")
    return scores.topk(min(NEIGHBOURS, len(concepts) - len(own))).indices.tolist()


def make_texts(config, generator):
    """Ragged texts with leaves of one token or two and trees over them, of which one is missing."""
    number = lambda low, high: int(torch.randint(low, high, (1,), generator=generator))
    texts = []
    for at in range(TEXTS):
        ids, leaves = [2], []
        for _ in range(number(1, 7)):
            leaves.append(len(ids))
            ids += [number(5, config.vocab_size) for _ in range(number(1, 3))]
        ids.append(3)
        n, phrases = len(leaves), []
        for _ in range(number(0, 5)):
            a = number(0, n)
            b = number(a + 1, n + 1)
            crosses = any(a < c < b < d or c < a < d < b for c, d in phrases)
            if 2 <= b - a < n and [a, b] not in phrases and not crosses:
                phrases.append([a, b])
        given = at % 5 != 3
        texts.append({"ids": ids, "leaves": leaves, "phrases": phrases if given else [],
                      "given": given, "label": number(0, 2)})
    return texts


def make(folder, heads):
    torch.manual_seed(0)
    model = SelfExplaining(folder, heads).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    generator = torch.Generator().manual_seed(11)
    texts = make_texts(model.encoder.config, generator)
    concepts = torch.normal(0, 0.7, (CONCEPTS, model.hidden), generator=generator).float()
    rows = [[i % TEXTS, (i * 5 + 2) % TEXTS] for i in range(CONCEPTS)]
    own = lambda text: [i for i, of in enumerate(rows) if text in of]
    out = OUT / f"explain-{model.family}"
    out.mkdir(parents=True, exist_ok=True)
    save_file(model.folder_weights(), out / "model.safetensors")
    config = json.loads((MODELS / folder / "config.json").read_text())
    config |= {"problem_type": "single_label_classification", "id2label": {"0": "no", "1": "yes"},
               "label2id": {"no": 0, "yes": 1}, "hidden_dropout_prob": 0.0,
               "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0,
               "hone_explain": {"neighbours": NEIGHBOURS, "heads": heads}}
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    wide = concepts.double()
    with torch.no_grad():
        logits = [model(text, wide, [])[0].tolist() for text in texts]
    optimizer = torch.optim.AdamW(groups(model), lr=RATE, eps=EPSILON)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    history = []
    for _ in range(STEPS):
        batch = torch.randperm(TEXTS, generator=generator)[:4].tolist()
        loss = 0
        for at in batch:
            answer, tree = model(texts[at], wide, own(at))
            loss = loss + cross_entropy(answer, torch.tensor(texts[at]["label"]))
            loss = loss + TREE_WEIGHT * tree
        loss = loss / len(batch)
        # A batch without phrases has a gradient of 0 for their weights, which AdamW goes on with; it
        # would leave out those that have none.
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        history.append({"texts": batch, "loss": loss.item(), "grad_norm": norm.item()})
    text = json.dumps({"steps": STEPS, "warmup": WARMUP, "rate": RATE, "decay": DECAY,
                       "clip": CLIP, "epsilon": EPSILON, "texts": texts, "logits": logits,
                       "concepts": concepts.tolist(), "rows": rows, "history": history},
                      separators=(",", ":"))
    (out / "history.json").write_text(text + "\n")
    print(folder, [round(s["loss"], 4) for s in history[:3]], "...", round(history[-1]["loss"], 4))


if __name__ == "__main__":
    for each, count in FOLDERS.items():
        make(each, count)
