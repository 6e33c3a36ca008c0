#!/usr/bin/env python3
"""Goldens of the tokeniser models: what Hugging Face `tokenizers` makes of random strings with
random small vocabularies, merges and replacement tables. tests/text reads them.

usage: text_models_goldens.py tests/text/goldens [--seed N] [--size N]

A golden file holds JSON lines. A line with "kind" sets the model up; each line after it is a case.
"""
import argparse
import json
import os
import random
import struct

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

# Where pieces of text go wrong: every plane, marks, joiners, jamo, Indic conjuncts, prepended
# signs, controls, all kinds of space, right-to-left, emoji, lone tags, private use.
NASTY = (
    " \t\n\r\x0b\x0c\x00\x01\x1f\x7f\x85\xa0\xad\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f"
    "\u3000\u180e\u200b\u200c\u200d\u2060\ufeff\u0300\u0301\u0308\u0327\u20dd\u0483\u0591\u064b"
    "\u0900\u0903\u093c\u093e\u094d\u0915\u0937\u09cd\u0995\u0b95\u0bcd\u0d4d\u0d15\u0d4e\u0e33"
    "\u0600\u06dd\u070f\u0890\U000110bd\u1100\u1161\u11a8\uac00\uac01\ud7b0\ud7cb\u3099\u30ab\u304b"
    "\u00a9\u00ae\u203c\u2764\ufe0f\U0001f468\U0001f469\U0001f3fd\U0001f1e6\U0001f1e7\U000e0061"
    "\U000e007f\U00011000\U000110bd\U00011133\U0001d165\U0001d173\U00016d63\ue000\ufdd0\uffff"
    "\ufffd\U0010ffff\u00bd\u2167\u0660\u0969\uff11\u2460\u00b2\u01c5\u02b0\u00aa\u3007\u4e00"
    "\u9fff\uff21\uff76\uff9e\ufb01\u1e9b\u0323\u212b\u2126\u03a3\u0130\u0131\u00df\u05d0\u0627"
    "\u0634\u202e\u2066\u0e01\u0e31\u1780\u17d2\u1b05\u1b44\U00010330\u2581\u0120\u010a\u2019"
)
COMMON = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789 .,;:!?'\"-_()<>/\\@#"


def nasty_text(rng, longest=24):
    out = []
    for _ in range(rng.randint(0, longest)):
        kind = rng.random()
        if kind < 0.45:
            out.append(rng.choice(NASTY))
        elif kind < 0.85:
            out.append(rng.choice(COMMON))
        elif kind < 0.9:
            out.append(rng.choice(["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "  ", " \n"]))
        else:
            code = rng.randrange(0x110000)
            out.append(chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd")
    return "".join(out)


def pieces(model, text):
    try:
        return [[t.id, *t.offsets] for t in model.tokenize(text)]
    except Exception:  # the reference has no narrower type
        return "error"


def random_bpe(rng):
    alphabet = rng.sample("abcdefé中😀\u0301", rng.randint(2, 6))
    prefix = rng.choice(["", "", "##"])
    suffix = rng.choice(["", "", "</w>"])
    vocab = []
    for c in alphabet:
        for p in {"", prefix}:
            for s in {"", suffix}:
                if rng.random() < 0.95:
                    vocab.append(p + c + s)
    merges = []
    for _ in range(rng.randint(0, 40)):
        left = rng.choice(vocab or ["a"])
        rights = [t for t in vocab if t.startswith(prefix)]
        if left.endswith("</w>") or not rights:
            continue
        right = rng.choice(rights)
        new = left + right[len(prefix) :]
        if len(new) > 24:
            continue
        if new not in vocab:
            vocab.append(new)
        merges.append([left, right])
    rng.shuffle(merges)
    fallback = rng.random() < 0.3
    unk = rng.choice([None, "<unk>"])
    if fallback:
        vocab += [f"<0x{b:02X}>" for b in range(256) if rng.random() < 0.97]
    if unk:
        vocab.append(unk)
    vocab = list(dict.fromkeys(vocab))
    rng.shuffle(vocab)
    options = {"fuse_unk": rng.random() < 0.5, "byte_fallback": fallback,
               "ignore_merges": rng.random() < 0.2}
    if unk:
        options["unk_token"] = unk
    if prefix:
        options["continuing_subword_prefix"] = prefix
    if suffix:
        options["end_of_word_suffix"] = suffix
    return {t: i for i, t in enumerate(vocab)}, merges, options, alphabet


def write_bpe(out, rng, size):
    for _ in range(size):
        vocab, merges, options, alphabet = random_bpe(rng)
        model = models.BPE(vocab=vocab, merges=[tuple(m) for m in merges], **options)
        write(out, {"kind": "bpe", "vocab": vocab, "merges": merges, **options})
        symbols = alphabet + ["z", "ß", "語"]
        for longest in [0, 1, 2, 3, 5, 8, 13, 20, 40, 41, 60, 90]:
            weights = [1] * len(alphabet) + [0.1 * rng.randrange(3)] * 3
            text = "".join(rng.choices(symbols, weights, k=longest))
            write(out, {"text": text, "pieces": pieces(model, text)})


def byte_bpe_case(tokenizer, text):
    """Pieces of a whole text in its bytes, from a tokenizer that is ByteLevel and BPE."""
    out, at = [], 0
    tokens = tokenizer.encode(text)
    for token_id, token in zip(tokens.ids, tokens.tokens):
        out.append([token_id, at, at + len(token)])  # a character of the alphabet is a byte
        at += len(token)
    return {"text": text, "pieces": out}


def byte_bpe_tokenizer(model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def write_byte_bpe(out, rng, size):
    for ignore_merges in [False, True]:
        texts = [nasty_text(rng, 40) for _ in range(size)]
        tokenizer = byte_bpe_tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(texts, trainer)
        model = json.loads(tokenizer.to_str())["model"]
        vocab, merges = model["vocab"], model["merges"]
        longest = max(vocab, key=len)
        vocab[longest + longest] = len(vocab)  # reached only where merges are ignored
        texts.append(bytes(longest * 2, "utf-8").decode() if longest.isascii() else "")
        tokenizer = byte_bpe_tokenizer(models.BPE(
            vocab=vocab, merges=[tuple(m) for m in merges], ignore_merges=ignore_merges))
        write(out, {"kind": "bpe", "vocab": vocab, "merges": merges,
                    "ignore_merges": ignore_merges})
        for text in texts:
            write(out, byte_bpe_case(tokenizer, text))


def write_unigram(out, rng, size):
    for _ in range(size):
        alphabet = rng.sample("abcdeé中😀\u0301▁", rng.randint(2, 6))
        texts = ["<unk>"] + [c for c in alphabet if rng.random() < 0.8]
        texts += ["".join(rng.choices(alphabet, k=rng.randint(1, 5))) for _ in range(25)]
        fallback = rng.random() < 0.4
        if fallback:
            texts += [f"<0x{b:02X}>" for b in range(256) if rng.random() < 0.97]
        texts += rng.sample(texts, 2)  # pieces that come twice
        coarse = rng.random() < 0.5  # few distinct scores, so that paths tie
        vocab = [[t, -rng.randint(1, 4) if coarse else -10 * rng.random()] for t in texts]
        unk_id = rng.choice([None, 0, 0, 0, 0, rng.randrange(len(vocab))])
        model = models.Unigram([tuple(p) for p in vocab], unk_id, fallback)
        write(out, {"kind": "unigram", "pieces": vocab, "unk_id": unk_id,
                    "byte_fallback": fallback})
        for longest in [0, 1, 2, 3, 5, 8, 13, 20, 40]:
            text = "".join(rng.choices(alphabet + ["z", "語", "<unk>"], k=longest))
            write(out, {"text": text, "pieces": pieces(model, text)})


def charsmap(entries):
    """The blob of a replacement table: a Darts double array, then the replacements."""
    normalized, place_of, trie = b"", {}, {}
    for replacement in entries.values():
        if replacement not in place_of:
            place_of[replacement] = len(normalized)
            normalized += replacement.encode() + b"\0"
    for key, replacement in entries.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = place_of[replacement]
    units, bases = {0: 0}, set()

    def place(at, node):
        base = 1
        while base in bases or any(base ^ label in units for label in node):
            base += 1
        bases.add(base)
        for label in node:
            units[base ^ label] = label
        units[at] |= (at ^ base) << 10 | (0 in node) << 8
        for label, child in node.items():
            if label == 0:
                units[base] = 1 << 31 | child
            else:
                place(base ^ label, child)

    place(0, trie)
    count = (max(units) | 255) + 1
    words = [units.get(i, 0) for i in range(count)]
    return struct.pack(f"<{count + 1}I", 4 * count, *words) + normalized


def charsmap_case(tokenizer, text):
    return {"text": text, "normalized": tokenizer.normalizer.normalize_str(text),
            "offsets": [list(o) for o in tokenizer.encode(text).offsets]}


def charsmap_tokenizer(blob):
    """Offsets of every normalised character show the alignment."""
    tokenizer = Tokenizer(models.WordLevel({"u": 0}, "u"))
    tokenizer.normalizer = normalizers.Precompiled(blob)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("(?m:.)"), "isolated")
    return tokenizer


def write_charsmap(out, rng, size):
    for _ in range(size):
        entries = {}
        for _ in range(rng.randint(1, 60)):
            key = rng.choice([rng.choice(COMMON), rng.choice(NASTY), nasty_text(rng, 3)])
            if key and "\0" not in key:
                value = rng.choice(["", "x", "xy", nasty_text(rng, 3)])
                entries[key] = value.replace("\0", "")
        blob = charsmap(entries or {"a": "b"})
        tokenizer = charsmap_tokenizer(blob)
        write(out, {"kind": "charsmap", "blob": blob.hex()})
        for _ in range(40):
            text = nasty_text(rng)
            if entries and rng.random() < 0.7:
                parts = rng.choices([*entries, "\u0301", "\u0300", "\u200d", "a"], k=8)
                text = "".join(parts)
            write(out, charsmap_case(tokenizer, text))


def byte_level_case(pre_tokenizer, text):
    words = pre_tokenizer.pre_tokenize_str(text)
    return {"text": text, "words": [[word, text[a:b]] for word, (a, b) in words]}


def write_byte_level(out, rng, size):
    pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    write(out, {"kind": "byte_level"})
    for _ in range(size * 10):
        write(out, byte_level_case(pre_tokenizer, nasty_text(rng)))


def write_metaspace(out, rng, size):
    for scheme in ["always", "first", "never"]:
        for split in [True, False]:
            for mark in ["▁", "_"]:
                pre_tokenizer = pre_tokenizers.Metaspace(mark, scheme, split)
                write(out, {"kind": "metaspace", "replacement": mark, "prepend": scheme,
                            "split": split})
                for _ in range(size):
                    text = "".join(rng.choices("  ab▁_é中\n\xa0", k=rng.randint(0, 12)))
                    words = pre_tokenizer.pre_tokenize_str(text)
                    write(out, {"text": text, "words": [[w, *o] for w, o in words]})


def write(out, value):
    out.write(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


WRITERS = {"bpe": write_bpe, "byte_bpe": write_byte_bpe, "unigram": write_unigram, "charsmap": write_charsmap,
           "byte_level": write_byte_level, "metaspace": write_metaspace}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=10)
    args = parser.parse_args()
    for kind, writer in WRITERS.items():
        with open(os.path.join(args.folder, f"{kind}.jsonl"), "w", encoding="ascii") as out:
            writer(out, random.Random(args.seed), args.size)


if __name__ == "__main__":
    main()
