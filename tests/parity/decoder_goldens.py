#!/usr/bin/env python3
"""Writes tests/text/goldens/decode.json: what `tokenizers` decodes ids to, by tokenizer and decoder.

The tokenizers are those of tests/text/goldens/tokenizer_*.json, each with the decoders that its family has
and with none. Ids are those of the texts there, and random ones, unknown ids included.
"""
import json
import pathlib
import random

from tokenizers import Tokenizer

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "text" / "goldens"
DECODERS = {
    "bert": [{"type": "WordPiece", "prefix": "##", "cleanup": True},
             {"type": "WordPiece", "prefix": "##", "cleanup": False}, None],
    "roberta": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}],
    "xlm_roberta": [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
                    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}],
    "albert": [{"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
               {"type": "BPEDecoder", "suffix": "s"}],
}
TEXTS = ["He said: \"don't, I'm sure we do not!\" ... isn't it? they've , you're .", "  two  spaces ", "naïve café 🎉 日本"]


def main():
    out = []
    for name, decoders in DECODERS.items():
        golden = json.loads((GOLDENS / f"tokenizer_{name}.json").read_text())
        for decoder in decoders:
            tokenizer = Tokenizer.from_str(json.dumps({**golden["tokenizer"], "decoder": decoder}))
            rng = random.Random(7)
            end = tokenizer.get_vocab_size()
            lists = [case["ids"] for case in golden["cases"] if case.get("ids")][:40]
            lists += [tokenizer.encode(text).ids for text in TEXTS]
            lists += [[rng.randrange(end + 5) for _ in range(rng.randrange(1, 30))] for _ in range(60)]
            cases = [{"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True),
                      "with_special": tokenizer.decode(ids, skip_special_tokens=False)}
                     for ids in lists + [[]]]
            out.append({"tokenizer": name, "decoder": decoder, "cases": cases})
    (GOLDENS / "decode.json").write_text(json.dumps(out, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
