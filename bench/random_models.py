"""Model folders with random weights and real tokenizers, for benchmarks that need a model's speed alone."""
import json
import os
import pathlib
import random
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
GOLDEN = ROOT / "tests/models/goldens/bert-words"
# Sizes and the tokenizer's folder.
MODELS = {
    "roberta-base": {"family": "roberta", "hidden": 768, "layers": 12, "inner": 3072, "heads": 12,
                     "vocabulary": 50265, "positions": 514, "tokenizer": "roberta"},
    "bert-base": {"family": "bert", "hidden": 768, "layers": 12, "inner": 3072, "heads": 12,
                  "vocabulary": 30522, "positions": 512, "tokenizer": "bert-base-uncased"},
    "minilm": {"family": "bert", "hidden": 384, "layers": 6, "inner": 1536, "heads": 12,
               "vocabulary": 30522, "positions": 512, "tokenizer": "bert-base-uncased"},
    "tiny": {"family": "bert", "hidden": 64, "layers": 2, "inner": 128, "heads": 2,
             "vocabulary": 30522, "positions": 512, "tokenizer": "bert-base-uncased"},
}


def read_texts():
    source = DATA / "glue/SST-2/dev.tsv"
    if source.exists():
        lines = source.read_text(encoding="utf-8").split("\n")[1:]
        return [line.split("\t")[0].strip() for line in lines if line], "SST-2 dev"
    draw = random.Random(1)
    texts = [" ".join(f"w{draw.randrange(20000)}" for _ in range(draw.randint(4, 42)))
             for _ in range(872)]
    return texts, "made-up words, of SST-2's lengths"


def tensors(size):
    """Names and shapes, as Hugging Face writes them."""
    prefix, hidden = size["family"], size["hidden"]

    def dense(name, rows, columns):
        return {f"{name}.weight": [rows, columns], f"{name}.bias": [rows]}

    def norm(name):
        return {f"{name}.weight": [hidden], f"{name}.bias": [hidden]}
    embeddings = f"{prefix}.embeddings"
    found = {f"{embeddings}.word_embeddings.weight": [size["vocabulary"], hidden],
             f"{embeddings}.position_embeddings.weight": [size["positions"], hidden],
             f"{embeddings}.token_type_embeddings.weight": [1 if prefix == "roberta" else 2, hidden],
             **norm(f"{embeddings}.LayerNorm")}
    for i in range(size["layers"]):
        layer = f"{prefix}.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            found |= dense(f"{layer}.attention.self.{part}", hidden, hidden)
        found |= dense(f"{layer}.attention.output.dense", hidden, hidden)
        found |= norm(f"{layer}.attention.output.LayerNorm")
        found |= dense(f"{layer}.intermediate.dense", size["inner"], hidden)
        found |= dense(f"{layer}.output.dense", hidden, size["inner"])
        found |= norm(f"{layer}.output.LayerNorm")
    if prefix == "roberta":
        return found | dense("classifier.dense", hidden, hidden) | dense("classifier.out_proj", 2,
                                                                         hidden)
    return found | dense("bert.pooler.dense", hidden, hidden) | dense("classifier", 2, hidden)


def write_weights(path, size):
    import numpy
    draw = numpy.random.default_rng(1)
    shapes, header, at = tensors(size), {}, 0
    for name, shape in shapes.items():
        count = int(numpy.prod(shape)) * 4
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes.items():
            if name.endswith("LayerNorm.weight"):
                values = numpy.ones(shape, numpy.float32)
            elif name.endswith(".bias"):
                values = numpy.zeros(shape, numpy.float32)
            else:
                values = 0.02 * draw.standard_normal(shape, numpy.float32)
            values.tofile(file)


def write_tokenizer(folder, size):
    """The model's own where there is one; else words, as the made-up texts have them."""
    own = DATA / "tokenizers" / size["tokenizer"]
    if own.is_dir():
        for file in own.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return f"{size['tokenizer']}'s"
    made = json.loads((GOLDEN / "tokenizer.json").read_text())
    vocabulary = made["model"]["vocab"]
    for i in range(size["vocabulary"] - len(vocabulary)):
        vocabulary[f"w{i}"] = len(vocabulary)
    (folder / "tokenizer.json").write_text(json.dumps(made))
    return "made up"


def write_model(folder, size):
    folder.mkdir()
    roberta = size["family"] == "roberta"
    config = {"model_type": size["family"], "hidden_size": size["hidden"],
              "architectures": ["RobertaForSequenceClassification" if roberta
                                else "BertForSequenceClassification"],
              "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"],
              "intermediate_size": size["inner"], "vocab_size": size["vocabulary"],
              "max_position_embeddings": size["positions"], "hidden_act": "gelu",
              "type_vocab_size": 1 if roberta else 2, "layer_norm_eps": 1e-5 if roberta else 1e-12,
              "pad_token_id": 1 if roberta else 0,
              "id2label": {"0": "negative", "1": "positive"},
              "label2id": {"negative": 0, "positive": 1}}
    (folder / "config.json").write_text(json.dumps(config))
    write_weights(folder / "model.safetensors", size)
    return write_tokenizer(folder, size)
