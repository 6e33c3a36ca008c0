"""The golden models: per family two odd configurations, and one folder a way of storing weights."""
import dataclasses

import torch

from models_tokenizers import SIZES, byte_bpe, unigram, wordpiece


@dataclasses.dataclass
class Case:
    name: str
    family: str  # config.json's model_type
    config: str
    model: str
    options: dict  # of the config class
    seed: int
    tokenizer: object = None
    max_length: int = 0  # of the tokenizer; 0 becomes the longest input
    arguments: dict = dataclasses.field(default_factory=dict)  # of the model class
    dtype: torch.dtype = torch.float32
    form: str = "safetensors"  # or old-names, zip-pickle, legacy-pickle
    shard: str = "1GB"
    pooling: str = ""  # sentence-transformers folder: mean, cls or max
    normalize: bool = False

    def __post_init__(self):
        self.options.setdefault("vocab_size", SIZES.get(self.tokenizer, 29))
        self.by_padding = "roberta" in self.family
        self.has_types = self.family != "distilbert"
        self.answers = ("logits",) if "Classification" in self.model else ()
        positions = self.options["max_position_embeddings"]
        offset = self.options.get("pad_token_id", 1) + 1 if self.by_padding else 0
        self.longest = positions - offset
        self.max_length = self.max_length or self.longest
        if self.by_padding:
            self.options.setdefault("pad_token_id", 1)


def named(*labels):
    return {"id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}}


def sizes(hidden, heads, intermediate, layers, positions, **more):
    return {"hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": intermediate,
            "num_hidden_layers": layers, "max_position_embeddings": positions, **more}


def distil(dim, heads, hidden_dim, layers, positions, **more):
    return {"dim": dim, "n_heads": heads, "hidden_dim": hidden_dim, "n_layers": layers,
            "max_position_embeddings": positions, **more}


def bert(name, seed, options, model="BertForSequenceClassification", **more):
    return Case(name, "bert", "BertConfig", model, options, seed, **more)


def roberta(name, seed, options, **more):
    return Case(name, "roberta", "RobertaConfig", "RobertaForSequenceClassification", options, seed,
                **more)


def xlm_roberta(name, seed, options, **more):
    return Case(name, "xlm-roberta", "XLMRobertaConfig", "XLMRobertaForSequenceClassification",
                options, seed, **more)


def distilbert(name, seed, options, model="DistilBertForSequenceClassification", **more):
    return Case(name, "distilbert", "DistilBertConfig", model, options, seed, **more)


def albert(name, seed, options, **more):
    return Case(name, "albert", "AlbertConfig", "AlbertForSequenceClassification", options, seed,
                **more)


def electra(name, seed, options, **more):
    return Case(name, "electra", "ElectraConfig", "ElectraForSequenceClassification", options, seed,
                **more)


FAMILIES = [
    bert("bert-words", 101, sizes(
        20, 5, 27, 2, 24, type_vocab_size=2, classifier_dropout=0.3,
        problem_type="single_label_classification", **named("negative", "positive")),
        tokenizer=wordpiece),
    bert("bert-multi-label", 102, sizes(
        33, 3, 41, 1, 17, hidden_act="gelu_new", layer_norm_eps=1e-3, type_vocab_size=1,
        num_labels=5, problem_type="multi_label_classification")),
    roberta("roberta-regression", 21, sizes(
        15, 5, 23, 2, 26, hidden_act="relu", layer_norm_eps=1e-5, type_vocab_size=1,
        num_labels=1, problem_type="regression"), tokenizer=byte_bpe),
    roberta("roberta-offset", 103, sizes(
        21, 7, 19, 2, 15, hidden_act="silu", layer_norm_eps=1e-2, type_vocab_size=2, pad_token_id=3,
        classifier_dropout=0.2, **named("contradiction", "neutral", "entailment"))),
    xlm_roberta("xlm-roberta-tanh", 101, sizes(
        16, 4, 29, 2, 18, hidden_act="tanh", layer_norm_eps=1e-6, type_vocab_size=1, num_labels=3)),
    xlm_roberta("xlm-roberta-multi-label", 32, sizes(
        27, 9, 31, 1, 13, hidden_act="gelu", layer_norm_eps=1e-4, type_vocab_size=2, pad_token_id=0,
        problem_type="multi_label_classification", **named("a", "b"))),
    distilbert("distilbert-learned", 41, distil(
        16, 4, 21, 2, 19, sinusoidal_pos_embds=False, num_labels=4)),
    distilbert("distilbert-sinusoidal", 42, distil(
        15, 5, 17, 2, 12, sinusoidal_pos_embds=True, activation="relu", num_labels=1,
        problem_type="regression")),
    albert("albert-groups", 100, sizes(
        20, 4, 27, 3, 22, embedding_size=12, num_hidden_groups=2, inner_group_num=2,
        hidden_act="gelu_new", type_vocab_size=2, **named("no", "yes")), tokenizer=unigram),
    albert("albert-wide-embedding", 52, sizes(
        18, 3, 25, 5, 14, embedding_size=23, num_hidden_groups=2, inner_group_num=1,
        hidden_act="silu", layer_norm_eps=1e-3, classifier_dropout_prob=0.4, type_vocab_size=1,
        num_labels=5)),
    electra("electra-projected", 82, sizes(
        20, 4, 27, 2, 22, embedding_size=12, hidden_act="relu", layer_norm_eps=1e-3,
        type_vocab_size=2, classifier_dropout=0.2, **named("no", "yes")), tokenizer=wordpiece),
    electra("electra-equal-sizes", 82, sizes(
        18, 3, 25, 3, 14, embedding_size=18, type_vocab_size=1, num_labels=3)),
]


def small(**more):
    return sizes(9, 3, 11, 1, 11, type_vocab_size=2, num_labels=2, **more)


def encoder():
    return {k: v for k, v in small().items() if k != "num_labels"}


STORAGE = [
    bert("bert-bare", 61, encoder(), model="BertModel", arguments={"add_pooling_layer": False}),
    bert("bert-old-names", 62, small(), form="old-names"),
    roberta("roberta-bin", 63, small(), form="zip-pickle"),
    distilbert("distilbert-legacy-bin", 64, distil(12, 2, 13, 1, 9), form="legacy-pickle"),
    bert("bert-sharded", 65, small(), shard="4KB"),
    distilbert("distilbert-fp16", 66, distil(14, 2, 19, 2, 10, num_labels=3), dtype=torch.float16),
    xlm_roberta("xlm-roberta-bf16", 67, small(), dtype=torch.bfloat16),
    bert("bert-relative-key", 68, small(position_embedding_type="relative_key")),
    bert("bert-relative-key-query", 69, small(position_embedding_type="relative_key_query")),
    bert("sentence-bert-mean", 71, encoder() | {"max_position_embeddings": 20}, model="BertModel",
         tokenizer=wordpiece, max_length=12, pooling="mean", normalize=True),
    distilbert("sentence-distilbert-cls", 72, distil(12, 4, 15, 1, 16), model="DistilBertModel",
               tokenizer=wordpiece, max_length=16, pooling="cls"),
]

CASES = FAMILIES + STORAGE
