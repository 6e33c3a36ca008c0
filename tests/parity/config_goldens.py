"""Makes tests/models/config_defaults.json: what transformers' config classes have where a
config.json leaves a field out, and what their models make of it.

    tests/parity/config_goldens.py
"""
import json
import pathlib

from transformers import (AlbertConfig, AlbertForSequenceClassification, BertConfig,
                          BertForSequenceClassification, DistilBertConfig,
                          DistilBertForSequenceClassification, ElectraConfig,
                          ElectraForSequenceClassification, RobertaConfig,
                          RobertaForSequenceClassification, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/models/config_defaults.json"

# Sizes that make a default config's model small; nothing that is read of it depends on them.
BERT_SIZES = dict(vocab_size=9, hidden_size=8, intermediate_size=8, num_attention_heads=2,
                  num_hidden_layers=1)
DISTILBERT_SIZES = dict(vocab_size=9, dim=8, hidden_dim=8, n_heads=2, n_layers=1)
FAMILIES = {
    "bert": (BertConfig, BertForSequenceClassification, BERT_SIZES),
    "roberta": (RobertaConfig, RobertaForSequenceClassification, BERT_SIZES),
    "xlm-roberta": (XLMRobertaConfig, XLMRobertaForSequenceClassification, BERT_SIZES),
    "distilbert": (DistilBertConfig, DistilBertForSequenceClassification, DISTILBERT_SIZES),
    "albert": (AlbertConfig, AlbertForSequenceClassification, {**BERT_SIZES, "embedding_size": 8}),
    "electra": (ElectraConfig, ElectraForSequenceClassification,
                {**BERT_SIZES, "embedding_size": 8}),
}
# Of the package and of generation, not of an encoder.
BESIDE = {"_name_or_path", "architectures", "dtype", "transformers_version", "return_dict",
          "output_attentions", "output_hidden_states", "use_cache", "chunk_size_feed_forward"}
# transformers 4 writes it; 5 knows nothing else.
EARLIER = {"position_embedding_type": "absolute"}


# Every probability another, so that one read for another is seen.
DROPS = {
    "bert": dict(hidden_dropout_prob=0.11, attention_probs_dropout_prob=0.22,
                 classifier_dropout=0.33),
    "distilbert": dict(dropout=0.11, attention_dropout=0.22, seq_classif_dropout=0.33),
    "albert": dict(hidden_dropout_prob=0.11, attention_probs_dropout_prob=0.22,
                   classifier_dropout_prob=0.33),
}
DROPS["roberta"] = DROPS["xlm-roberta"] = DROPS["electra"] = DROPS["bert"]


def layer_dropout(name, base):
    """Of attention's probabilities, of its output and of the feed-forward output."""
    if name == "distilbert":  # which adds attention's output as it is
        layer = base.transformer.layer[0]
        return [layer.attention.dropout.p, 0.0, layer.ffn.dropout.p]
    if name == "albert":  # which adds the feed-forward output as it is
        attention = base.encoder.albert_layer_groups[0].albert_layers[0].attention
        return [attention.attention_dropout.p, attention.output_dropout.p, 0.0]
    layer = base.encoder.layer[0]
    return [layer.attention.self.dropout.p, layer.attention.output.dropout.p,
            layer.output.dropout.p]


def made(name, model):
    """What a model has of its config, under hone's names."""
    eps = {module.eps for module in model.modules() if hasattr(module, "eps")}
    assert len(eps) == 1, eps
    head = getattr(model, "dropout", None) or model.classifier.dropout
    base = model.base_model
    return {"layer_norm_eps": eps.pop(), "embedding_dropout": base.embeddings.dropout.p,
            "layer_dropout": layer_dropout(name, base), "head_dropout": head.p}


def main():
    out = {}
    for name, (config_class, model_class, sizes) in FAMILIES.items():
        fields = {key: value for key, value in config_class().to_dict().items()
                  if key not in BESIDE}
        drops = DROPS[name]
        out[name] = {"fields": {**fields, **EARLIER},
                     "made": made(name, model_class(config_class(**sizes))),
                     "drops": drops,
                     "made_with_drops": made(name, model_class(config_class(**sizes, **drops)))}
    OUT.write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
