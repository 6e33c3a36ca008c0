"""Writes a full-size model folder with random weights and a real tokenizer, for comparisons.

    models_random.py bert-base|roberta-base|distilbert|albert-base|xlm-roberta OUT_DIR

Tokenizer files come from HONE_DATA/tokenizers (default: shared/data beside the project). The
weights are drawn wider than a fresh initialisation, so that answers differ between inputs.
"""
import json
import os
import pathlib
import shutil
import sys

import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
SEED = 7


def copied(source, config):
    """Takes a tokenizer's files as they are, plus the config that names its class."""
    def put(folder):
        for path in sorted((DATA / "tokenizers" / source).iterdir()):
            shutil.copyfile(path, folder / path.name)
        if not (folder / "tokenizer_config.json").exists():
            (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    return put


def xlm_unigram(folder):
    """XLM-R's pipeline over ALBERT's pieces: a charsmap, Metaspace and the <s> </s> template."""
    from sentencepiece import sentencepiece_model_pb2
    from tokenizers import (Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                            processors)
    spiece = sentencepiece_model_pb2.ModelProto()
    spiece.ParseFromString((DATA / "tokenizers/albert/spiece.model").read_bytes())
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [(p.piece, p.score) for p in spiece.pieces if p.type == p.NORMAL]
    vocab = [(name, 0.0) for name in special] + pieces + [("<mask>", 0.0)]
    made = Tokenizer(models.Unigram(vocab, unk_id=3))
    made.normalizer = normalizers.Sequence([
        normalizers.Precompiled(spiece.normalizer_spec.precompiled_charsmap),
        normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        unk_token="<unk>", pad_token="<pad>", mask_token="<mask>",
        model_max_length=512).save_pretrained(folder)


MODELS = {
    "bert-base": ("Bert", {}, copied("bert-base-uncased", {})),
    "roberta-base": ("Roberta", {"vocab_size": 50265, "max_position_embeddings": 514,
                                 "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1},
                     copied("roberta", {"tokenizer_class": "RobertaTokenizer",
                                        "model_max_length": 512})),
    "distilbert": ("DistilBert", {}, copied("bert-base-uncased", {})),
    "albert-base": ("Albert", {"hidden_size": 768, "num_attention_heads": 12,
                               "intermediate_size": 3072, "hidden_act": "gelu_new"},
                    copied("albert", {"tokenizer_class": "AlbertTokenizer",
                                      "model_max_length": 512})),
    "xlm-roberta": ("XLMRoberta", {"vocab_size": 30010, "max_position_embeddings": 514,
                                   "type_vocab_size": 1, "layer_norm_eps": 1e-5,
                                   "pad_token_id": 1}, xlm_unigram),
}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: models_random.py {'|'.join(MODELS)} OUT_DIR")
    if not DATA.is_dir():
        sys.exit(f"{DATA}: no such folder; set HONE_DATA to a folder that has tokenizers/")
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    transformers.logging.disable_progress_bar()
    prefix, options, tokenizer = MODELS[name]
    config = getattr(transformers, prefix + "Config")(
        **options, id2label={0: "negative", 1: "neutral", 2: "positive"},
        label2id={"negative": 0, "neutral": 1, "positive": 2})
    torch.manual_seed(SEED)
    model = getattr(transformers, prefix + "ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            norm = "norm" in parameter_name.lower() and parameter_name.endswith("weight")
            parameter.normal_(1.0 if norm else 0.0, 0.1 if norm else 0.04)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer(folder)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{name}: {parameters / 1e6:.1f} M parameters in {folder}")


if __name__ == "__main__":
    main()
