"""Makes the golden model folders in tests/models/goldens, or with --check compares them.

Each folder is a real Hugging Face folder with random weights that are large enough for a wrong
option to show, and a goldens.json of inputs (token ids) and answers. The answers come from
transformers in double precision and are rounded once to fp32, so that 1e-5 holds for any correct
fp32 implementation; that fp32 PyTorch stays within it is asserted here.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from models_cases import CASES
from models_tokenizers import TEXTS

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE.parent / "models" / "goldens"
TOLERANCE = 1e-5


def relative_attention(module, query, key, value, attention_mask, scaling=None, **_):
    """BERT's relative_key and relative_key_query as transformers 4 computed them.

    Version 5 dropped them; checkpoints with them exist. distance_embedding is
    [2 * max_position - 1, head_size], indexed by (query position - key position + max - 1).
    """
    length = query.shape[2]
    at = torch.arange(length)
    table = module.distance_embedding.weight
    by_distance = table[at[:, None] - at[None, :] + (table.shape[0] + 1) // 2 - 1]
    scores = query @ key.transpose(2, 3)
    scores = scores + torch.einsum("bhld,lrd->bhlr", query, by_distance)
    if module.config.position_embedding_type == "relative_key_query":
        scores = scores + torch.einsum("bhrd,lrd->bhlr", key, by_distance)
    weights = torch.softmax(scores * query.shape[-1] ** -0.5, dim=-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def build(case):
    """The model with its weights drawn from a stream that numpy promises never to change."""
    config = getattr(transformers, case.config)(**case.options)
    relative = str(case.options.get("position_embedding_type", "")).startswith("relative")
    config._attn_implementation = "eager"
    model = getattr(transformers, case.model)(config, **case.arguments).eval()
    if relative:
        transformers.AttentionInterface.register("relative", relative_attention)
        for name, module in model.named_modules():
            if name.endswith("attention.self"):
                head = config.hidden_size // config.num_attention_heads
                rows = 2 * config.max_position_embeddings - 1
                module.distance_embedding = torch.nn.Embedding(rows, head)
    random = np.random.RandomState(case.seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = random.standard_normal(parameter.shape).astype(np.float32)
            if case.options.get("sinusoidal_pos_embds") and "position_embeddings" in name:
                continue
            norm = "norm" in name.lower()
            centre, spread = (1.0, 0.3) if norm and name.endswith("weight") else (0.0, 0.4)
            parameter.copy_(centre + spread * torch.from_numpy(noise))
    return model.to(case.dtype), relative


def save(model, case, folder):
    """Writes the weights in the case's form; config.json is always transformers' own."""
    folder.mkdir(parents=True)
    if case.form == "safetensors":
        return model.save_pretrained(folder, max_shard_size=case.shard)
    model.config.architectures = [case.model]
    model.config.dtype = case.dtype
    model.config.save_pretrained(folder)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    if case.form == "old-names":
        positions = torch.arange(model.config.max_position_embeddings)[None, :]
        weights["bert.embeddings.position_ids"] = positions.contiguous()
        weights = {name.replace("LayerNorm.weight", "LayerNorm.gamma")
                       .replace("LayerNorm.bias", "LayerNorm.beta"): value
                   for name, value in weights.items()}
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        torch.save(weights, folder / "pytorch_model.bin",
                   _use_new_zipfile_serialization=case.form == "zip-pickle")
    return None


def forward(model, case, ids, type_ids):
    """Logits (None for a bare encoder) and last hidden states [tokens, hidden] of one sequence."""
    inputs = {"input_ids": torch.tensor([ids])}
    if case.has_types:
        inputs["token_type_ids"] = torch.tensor([type_ids])
    with torch.no_grad():
        if "logits" in case.answers:
            made = model(**inputs, output_hidden_states=True)
            return made.logits[0], made.hidden_states[-1][0]
        return None, model(**inputs).last_hidden_state[0]


def rows(tensor):
    """fp32 values with the nine digits that bring each back exactly."""
    return json.loads(json.dumps(np.asarray(tensor.to(torch.float32)).tolist()),
                      parse_float=lambda s: float(f"{float(s):.9g}"))


def inputs_of(case):
    """Token ids and type ids at the edge lengths, with the first and last id of the vocabulary."""
    random = np.random.RandomState(case.seed + 1)
    vocab, longest = case.options["vocab_size"], case.longest
    padding = case.options.get("pad_token_id", 0)
    for length in (1, 2, 3, 7, longest):
        ids = [int(i) for i in random.randint(0, vocab, length)]
        if case.by_padding:
            ids = [i if i != padding else (i + 1) % vocab for i in ids]
        ids[-1] = vocab - 1
        split = length // 2 if case.has_types and case.options["type_vocab_size"] > 1 else length
        yield ids, [0] * split + [1] * (length - split)
    if case.by_padding:
        # A padding token that stands in the text: it keeps the padding's position and the
        # positions after it do not count it.
        yield [2, 5, padding, 6, 7, 2], [0] * 6


def answers(model, case, ids, type_ids):
    logits, hidden = forward(model, case, ids, type_ids)
    found = {"mean": rows(hidden.mean(0)), "first": rows(hidden[0])}
    if logits is not None:
        found["logits"] = rows(logits)
    if case.pooling:
        pooled = {"mean": hidden.mean(0), "cls": hidden[0],
                  "max": hidden.max(0).values}[case.pooling]
        found["embedding"] = rows(pooled / pooled.norm() if case.normalize else pooled)
    return found


def goldens_of(model, case, tokenizer):
    made = {"family": case.family, "inputs": [], "texts": []}
    for ids, type_ids in inputs_of(case):
        made["inputs"].append({"ids": ids, **({"type_ids": type_ids} if case.has_types else {}),
                               **answers(model, case, ids, type_ids)})
    whole = made["inputs"][3]
    _, hidden = forward(model, case, whole["ids"], whole.get("type_ids", [0] * 7))
    made["hidden"] = {"input": 3, "rows": rows(hidden)}
    for sentence in TEXTS if tokenizer else []:
        coded = tokenizer(sentence["text"], sentence.get("text_pair"), truncation=True,
                          max_length=case.max_length, return_token_type_ids=True)
        made["texts"].append({**sentence, "ids": coded["input_ids"],
                              "type_ids": coded["token_type_ids"],
                              **answers(model, case, coded["input_ids"], coded["token_type_ids"])})
    return made


def sentence_files(case, folder):
    """What sentence-transformers puts around a bare encoder."""
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * case.normalize
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [{"idx": i, "name": str(i), "path": paths[i],
                "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]
    write(folder / "modules.json", modules)
    write(folder / "sentence_bert_config.json",
          {"max_seq_length": case.max_length, "do_lower_case": False})
    names = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    pooling = {f"pooling_mode_{name}": kind == case.pooling for kind, name in names.items()}
    (folder / "1_Pooling").mkdir()
    write(folder / "1_Pooling" / "config.json",
          {"word_embedding_dimension": case.options.get("hidden_size") or case.options["dim"],
           **pooling, "pooling_mode_mean_sqrt_len_tokens": False})


def write(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_goldens(path, made):
    """One line an input keeps the file small and its diffs readable."""
    text = json.dumps({**made, "inputs": 0, "texts": 0, "hidden": 0})[:-1]
    for key in ("inputs", "texts"):
        lines = ",\n  ".join(json.dumps(item, separators=(",", ":"), ensure_ascii=False)
                             for item in made[key])
        text = text.replace(f'"{key}": 0', f'\n "{key}": [\n  {lines}]')
    hidden = json.dumps(made["hidden"], separators=(",", ":"))
    path.write_text(text.replace('"hidden": 0', f'\n "hidden": {hidden}') + "}\n", encoding="utf-8")


def worst(left, right):
    """The largest difference between two golden values of one shape."""
    if isinstance(left, dict):
        assert left.keys() == right.keys(), f"keys {left.keys()} and {right.keys()}"
        return max([0.0, *(worst(left[k], right[k]) for k in left)])
    if isinstance(left, list):
        assert len(left) == len(right), f"lengths {len(left)} and {len(right)}"
        return max([0.0, *(worst(a, b) for a, b in zip(left, right))])
    if isinstance(left, float) or isinstance(right, float):
        return abs(left - right)
    assert left == right, f"{left!r} is not {right!r}"
    return 0.0


def make(case, root):
    folder = root / case.name
    model, relative = build(case)
    save(model, case, folder)
    tokenizer = case.tokenizer(folder, case.max_length) if case.tokenizer else None
    if case.pooling:
        sentence_files(case, folder)
    if relative:
        model.config._attn_implementation = "relative"
        with torch.no_grad():
            base = getattr(model, "bert", model)
            base.embeddings.position_embeddings.weight.zero_()
    made = goldens_of(model.double(), case, tokenizer)
    single = worst(made, goldens_of(model.float(), case, tokenizer))
    assert single < TOLERANCE / 5, f"{case.name}: fp32 PyTorch itself is {single:.1e} away"
    write_goldens(folder / "goldens.json", made)
    return folder


def same_file(name, old, new):
    """An explanation of how the committed file differs, or None."""
    if name.endswith(".safetensors"):
        a, b = load_file(old), load_file(new)
        equal = a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
        return None if equal else "weights differ"
    if name.endswith(".bin"):
        a, b = (torch.load(path, weights_only=True) for path in (old, new))
        equal = a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
        return None if equal else "weights differ"
    if name.endswith("goldens.json"):
        off = worst(json.loads(old.read_text()), json.loads(new.read_text()))
        return None if off < TOLERANCE / 10 else f"answers differ by {off:.2e}"
    if name.endswith(".json"):
        a, b = (json.loads(path.read_text()) for path in (old, new))
        for value in (a, b):
            if isinstance(value, dict):
                value.pop("transformers_version", None)
        return None if a == b else "differs"
    return None if old.read_bytes() == new.read_bytes() else "differs"


def compare(old_root, new_root):
    wrong = []
    names = {str(path.relative_to(root)) for root in (old_root, new_root)
             for path in root.rglob("*") if path.is_file()}
    for name in sorted(names):
        old, new = old_root / name, new_root / name
        if not old.exists() or not new.exists():
            wrong.append(f"{name}: {'not made by the script' if old.exists() else 'not committed'}")
        elif problem := same_file(name, old, new):
            wrong.append(f"{name}: {problem}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is committed")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "goldens"
        for case in CASES:
            make(case, root)
        if options.check:
            wrong = compare(GOLDENS, root)
            print("\n".join(wrong) or f"{len(CASES)} folders are as committed")
            return 1 if wrong else 0
        if GOLDENS.exists():
            shutil.rmtree(GOLDENS)
        shutil.copytree(root, GOLDENS)
    size = sum(p.stat().st_size for p in GOLDENS.rglob("*") if p.is_file())
    print(f"{len(CASES)} folders, {size / 1024:.0f} KiB in {GOLDENS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
