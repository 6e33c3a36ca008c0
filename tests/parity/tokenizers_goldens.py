#!/usr/bin/env python3
"""Writes tests/text/goldens/tokenizer_*.json: tiny tokenizers and what `tokenizers` makes of texts.

    python tests/parity/tokenizers_goldens.py

The tokenizers are made by rules (tokenizers_made.py), so no third party's data is in them. Bytes
that are not UTF-8 stand as lists of numbers.
"""
import json
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors

import tokenizers_made as made
import tokenizers_nasty as nasty
from tokenizers_common import reference

OUT = Path(__file__).resolve().parent.parent / "text" / "goldens"


def special(tokenizer, names, **flags):
    tokenizer.add_special_tokens([AddedToken(n, normalized=False, **flags) for n in names])
    return tokenizer


def around(tokenizer, cls, sep):
    ids = [(cls, tokenizer.token_to_id(cls)), (sep, tokenizer.token_to_id(sep))]
    return processors.TemplateProcessing(single=f"{cls}:0 $A:0 {sep}:0",
                                         pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", special_tokens=ids)


def families():
    """One tokenizer of the shape of each family, and one with everything else."""
    rng = random.Random(7)
    bert = Tokenizer(models.WordPiece(made.word_vocab("##"), unk_token="[UNK]"))
    bert.normalizer = N.BertNormalizer()
    bert.pre_tokenizer = P.BertPreTokenizer()
    special(bert, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    bert.post_processor = around(bert, "[CLS]", "[SEP]")
    yield "bert", bert
    cased = Tokenizer(models.WordPiece(made.word_vocab("##"), unk_token="[UNK]", max_input_chars_per_word=12))
    cased.normalizer = N.BertNormalizer(lowercase=False)
    cased.pre_tokenizer = P.BertPreTokenizer()
    special(cased, ["[CLS]", "[SEP]"])
    cased.add_tokens([AddedToken("café", single_word=True), AddedToken("New", lstrip=True, rstrip=True)])
    cased.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "bert_cased", cased
    for name, prefix in (("roberta", False), ("roberta_prefix", True)):
        roberta = Tokenizer(made.bpe(rng, True))
        roberta.pre_tokenizer = P.ByteLevel(prefix)
        special(roberta, ["<s>", "</s>", "<unk>"])
        special(roberta, ["<mask>"], lstrip=True)
        roberta.post_processor = processors.RobertaProcessing(
            ("</s>", roberta.token_to_id("</s>")), ("<s>", roberta.token_to_id("<s>")), True, prefix)
        yield name, roberta
    xlm = Tokenizer(made.unigram(rng))
    xlm.normalizer = N.Sequence([made.charsmap(), N.NFKC()])
    xlm.pre_tokenizer = P.Sequence([P.WhitespaceSplit(), P.Metaspace()])
    special(xlm, ["<s>", "</s>"])
    xlm.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
                                                       special_tokens=[("<s>", 1), ("</s>", 2)])
    yield "xlm_roberta", xlm
    albert = Tokenizer(made.unigram(rng))
    albert.normalizer = N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase()])
    albert.pre_tokenizer = P.Metaspace(prepend_scheme="first")
    special(albert, ["[CLS]", "[SEP]", "[MASK]"])
    albert.post_processor = around(albert, "[CLS]", "[SEP]")
    yield "albert", albert
    for seed in (12, 35, 41, 77):
        yield f"made_{seed}", made.make(seed)


def texts():
    rng = random.Random(11)
    out = ["", " ", "a", "Hello world", "don't they'll", "[CLS] a [MASK] b<mask>  </s>", "naïve café ÀÉÎ cafe\u0301",
           "a" * 100, "a" * 101, "日本語テスト中文", "ﬁnance ①½ \u1e9b\u0323", "\x00\x01a\u200bb\ufffd", "👩‍👩‍👧‍👦 👍🏽",
           "  leading", "trailing  ", "שָׁלוֹם العَرَبِيَّة", "ö\u0323 a\u0307\u0323", "한국어", "``quoted''", "\t\r\n\x0b\x0c\x85",
           ("Hello world", "the test"), ("", "b"), ("a", "")]
    out += [" ".join(nasty.WORDS[:12]), "".join(nasty.WORDS[20:32])] + list(nasty.invalid(rng, 4))
    out += [nasty.random_text(rng, 6) for _ in range(10)]
    return out + [(nasty.random_text(rng, 5), nasty.random_text(rng, 5)) for _ in range(4)]


def plain(part):
    return list(part) if isinstance(part, bytes) else part


def case(item, result, settings):
    text, pair = item if isinstance(item, tuple) else (item, None)
    flat = [x for offsets in result["offsets"] for x in offsets]
    return {"text": plain(text), "pair": plain(pair), **settings, "ids": result["ids"], "type_ids": result["type_ids"],
            "offsets": flat, "special": result["special"], "tokens": result["tokens"]}


def fingerprint(parts):
    """FNV-1a, 64 bits, of strings each ended by a line feed."""
    value = 0xCBF29CE484222325
    for part in parts:
        for byte in part.encode() + b"\n":
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def all_code_points():
    """Fingerprints of what components do to a + c + b for every code point c."""
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    normalizers = [N.NFD(), N.NFKD(), N.NFC(), N.NFKC(), N.Lowercase(), N.StripAccents(), N.Nmt(),
                   N.BertNormalizer(), N.BertNormalizer(False, False, True, False), N.BertNormalizer(True, True, False, True)]
    splitters = [P.BertPreTokenizer(), P.Whitespace(), P.WhitespaceSplit(), P.Punctuation(), P.Digits(True),
                 P.Split(Regex(r"\p{L}+|\p{N}|\s|\p{P}"), "isolated"), P.Split(Regex(r"\w+"), "removed")]
    for component in normalizers:
        yield {"normalizer": json.loads(component.__getstate__()),
               "fnv": fingerprint(component.normalize_str(f"a{chr(c)}b") for c in codes)}
    for component in splitters:
        yield {"pre_tokenizer": json.loads(component.__getstate__()),
               "fnv": fingerprint("|".join(w for w, _ in component.pre_tokenize_str(f"a{chr(c)}b")) for c in codes)}


def main():
    OUT.mkdir(exist_ok=True)
    (OUT / "tokenizer_unicode.jsonl").write_text("".join(json.dumps(r) + "\n" for r in all_code_points()))
    inputs = texts()
    for name, tokenizer in families():
        made_json = json.loads(tokenizer.to_str())
        cases = []
        for settings in ({}, {"special_tokens": False}, {"max_length": 9, "strategy": "longest_first", "direction": "right"},
                         {"max_length": 7, "strategy": "longest_first", "direction": "left"},
                         {"max_length": 8, "strategy": "only_first", "direction": "right"},
                         {"max_length": 8, "strategy": "only_second", "direction": "left"}):
            chosen = inputs if not settings else [i for i in inputs if isinstance(i, tuple)] + inputs[3:9]
            tokenizer.no_truncation()
            if "max_length" in settings:
                tokenizer.enable_truncation(settings["max_length"], strategy=settings["strategy"],
                                            direction=settings["direction"])
            results = reference(tokenizer, chosen, settings.get("special_tokens", True))
            cases += [case(i, r, settings) for i, r in zip(chosen, results) if not isinstance(r, str)]
        text = json.dumps({"tokenizer": made_json, "cases": cases}, ensure_ascii=True, separators=(",", ":"))
        (OUT / f"tokenizer_{name}.json").write_text(text.replace('{"text"', '\n{"text"') + "\n")
        print(name, len(cases), "cases", len(text), "bytes")


if __name__ == "__main__":
    main()
