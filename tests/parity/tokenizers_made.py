"""Tokenizers made from rules: tiny vocabularies, every component, every option."""
import random
import struct

from tokenizers import AddedToken, Regex, Tokenizer, models
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors

import tokenizers_nasty as nasty

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'\"-_()`:/&@▁Ġé日本語中文한αβγя"
STEMS = ["the", "hello", "world", "ing", "er", "naive", "naïve", "cafe", "café", "test", "un", "aff", "able", "日本", "中",
         "straße", "don", "ll", "ve", "don't", "ﬁ", "fi", "nance", "it", "is", "a", "th", "he", "10", "00", "...", "!!"]


def word_vocab(prefix):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<unk>", "<mask>"]
    tokens += list(ALPHABET) + STEMS + [prefix + t for t in list(ALPHABET[:70:2]) + STEMS]
    return {t: i for i, t in enumerate(dict.fromkeys(tokens))}


def wordpiece(rng):
    prefix = rng.choice(["##", "##", "", "@@"])
    return models.WordPiece(word_vocab(prefix), unk_token="[UNK]", continuing_subword_prefix=prefix,
                            max_input_chars_per_word=rng.choice([100, 100, 5, 1]))


def bpe(rng, byte_level):
    alphabet = sorted(P.ByteLevel.alphabet()) if byte_level else list(ALPHABET)
    vocab, merges = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<unk>", "<mask>"], []
    vocab += [f"<0x{b:02X}>" for b in range(256)] if not byte_level and rng.random() < 0.5 else []
    vocab += alphabet
    seen = set(vocab)
    for stem in STEMS + ["Ġthe", "Ġa", "ĠĠ", "Ġhello", "▁the", "▁a", "▁▁"]:
        if byte_level and not all(c in seen for c in stem):
            continue
        left = stem[0]
        if left not in seen:
            continue
        for right in stem[1:]:
            if right not in seen:
                break
            if left + right not in seen or (left, right) not in merges:
                merges.append((left, right))
            if left + right not in seen:
                seen.add(left + right)
                vocab.append(left + right)
            left += right
    options = {"unk_token": None} if byte_level else {
        "unk_token": rng.choice(["[UNK]", None]), "fuse_unk": rng.random() < 0.5, "byte_fallback": rng.random() < 0.5}
    return models.BPE({t: i for i, t in enumerate(dict.fromkeys(vocab))}, list(dict.fromkeys(merges)),
                      ignore_merges=rng.random() < 0.2, **options)


def unigram(rng):
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("[UNK]", 0.0)]
    fallback = rng.random() < 0.3
    if fallback:
        pieces += [(f"<0x{b:02X}>", -20.0) for b in range(256)]
    pieces += [(c, -8.0 - i * 0.01) for i, c in enumerate(ALPHABET)]
    pieces += [(s, -4.0 - i * 0.1) for i, s in enumerate(STEMS) if len(s) > 1]
    pieces += [("▁" + s, -3.0 - i * 0.1) for i, s in enumerate(STEMS)]
    return models.Unigram([p for i, p in enumerate(pieces) if p[0] not in {q[0] for q in pieces[:i]}], 0, fallback)


def charsmap():
    """A precompiled charsmap with a Darts trie of one level."""
    entries = {"A": "a", "B": "bb", "\t": " ", "\x7f": ""}
    # Darts: unit of node = offset << 10 | has_leaf << 8 | label; leaf unit = value | 1 << 31.
    units = [0] * 512
    base = 256  # children of the root lie at base ^ byte
    units[0] = base << 10
    normalized = b""
    for key, value in entries.items():
        at = base ^ key.encode()[0]
        leaf = next(i for i in range(1, base) if units[i] == 0)
        units[at] = (at ^ leaf) << 10 | 1 << 8 | key.encode()[0]
        units[leaf] = len(normalized) | 1 << 31
        normalized += value.encode() + b"\0"
    raw = struct.pack(f"<I{len(units)}I", len(units) * 4, *units) + normalized
    return N.Precompiled(raw)


def normalizer(rng, depth=0):
    kind = rng.randrange(13 if depth == 0 else 12)
    flag = lambda: rng.random() < 0.5  # noqa: E731
    if kind < 2:
        return N.BertNormalizer(flag(), flag(), rng.choice([None, True, False]), flag())
    if kind == 2:
        return rng.choice([N.NFD, N.NFKD, N.NFC, N.NFKC])()
    if kind == 3:
        return rng.choice([N.Lowercase, N.StripAccents, N.Nmt])()
    if kind == 4:
        return N.Strip(flag(), flag())
    if kind == 5:
        return N.Replace(rng.choice(["a", "``", "''", " ", "e\u0301", "日", "aa"]), rng.choice(["", "x", "▁", "yz", "é"]))
    if kind == 6:
        return N.Replace(Regex(rng.choice([" {2,}", r"\s+", "[aeiou]", r"\p{P}", r"(?<=a)", r"\d+"])),
                         rng.choice(["", " ", "_", "日本"]))
    if kind == 7:
        return N.Prepend(rng.choice(["▁", "ab"]))
    if kind == 8:
        return charsmap()
    if kind in (9, 10):
        return rng.choice([N.NFC, N.NFKC, N.NFKD])()
    return N.Sequence([normalizer(rng, depth + 1) for _ in range(rng.randint(0, 4))])


def pre_tokenizer(rng, depth=0):
    kind = rng.randrange(11 if depth == 0 else 9)
    flag = lambda: rng.random() < 0.5  # noqa: E731
    behavior = rng.choice(["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
    if kind == 0:
        return P.BertPreTokenizer()
    if kind == 1:
        return rng.choice([P.Whitespace, P.WhitespaceSplit])()
    if kind == 2:
        return P.Punctuation(behavior)
    if kind == 3:
        return P.Digits(flag())
    if kind in (4, 5):
        pattern = rng.choice([Regex(r"\s+"), Regex(r"\w+|[^\w\s]+"), Regex("[aeiou]"), Regex(r"\p{L}+"), Regex(r"(?=[A-Z])"),
                              Regex(r"\p{N}{1,3}"), Regex(r"\b"), " ", "a", "th", "日"])
        return P.Split(pattern, behavior, flag())
    if kind == 6:
        return P.ByteLevel(flag(), use_regex=flag())
    if kind == 7:
        return P.Metaspace(rng.choice(["▁", "_"]), rng.choice(["always", "first", "never"]), flag())
    if kind == 8:
        return P.CharDelimiterSplit(rng.choice("a-é"))
    return P.Sequence([pre_tokenizer(rng, depth + 1) for _ in range(rng.randint(1, 3))])


def post_processor(rng, tokenizer):
    cls, sep = ("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]"))
    flag = lambda: rng.random() < 0.5  # noqa: E731
    kind = rng.randrange(6)
    template = processors.TemplateProcessing(
        single=rng.choice(["[CLS] $A [SEP]", "$A", "[CLS]:3 $A:2 [SEP]:1 [SEP]", "two:1 $A"]),
        pair=rng.choice(["[CLS] $A [SEP] $B:1 [SEP]:1", "$A $B", "[SEP] $B:4 two $A:0 [CLS]"]),
        special_tokens=[cls, sep, {"id": "two", "ids": [cls[1], sep[1]], "tokens": ["X", "Y"]}])
    byte_level = processors.ByteLevel(add_prefix_space=flag(), trim_offsets=flag())
    return [None, processors.BertProcessing(sep, cls), processors.RobertaProcessing(sep, cls, flag(), flag()), template,
            byte_level, processors.Sequence([byte_level, template])][kind]


def added_tokens(rng, tokenizer):
    flag = lambda p=0.3: rng.random() < p  # noqa: E731
    contents = ["[CLS]", "[SEP]", "[MASK]", "<s>", "<mask>", "new", "Hello", "café", "日", "a b", "_", "the ", "...", "İ", "[UNK]"]
    for content in rng.sample(contents, rng.randint(0, 8)):
        token = AddedToken(content, single_word=flag(), lstrip=flag(), rstrip=flag(), normalized=flag(0.5))
        if flag(0.5):
            tokenizer.add_special_tokens([token])
        else:
            tokenizer.add_tokens([token])


def make(seed):
    """A tokenizer that depends on the seed alone."""
    rng = random.Random(seed)
    byte_level = rng.random() < 0.4
    tokenizer = Tokenizer(rng.choice([wordpiece, lambda r: bpe(r, byte_level), unigram])(rng))
    if rng.random() < 0.8:
        tokenizer.normalizer = normalizer(rng)
    if rng.random() < 0.85:
        tokenizer.pre_tokenizer = P.ByteLevel(rng.random() < 0.5) if byte_level and rng.random() < 0.6 else pre_tokenizer(rng)
    processor = post_processor(rng, tokenizer)
    if processor is not None:
        tokenizer.post_processor = processor
    added_tokens(rng, tokenizer)
    return tokenizer


def inputs(seed, count):
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        text = nasty.random_text(rng, 8)
        out.append((text, nasty.random_text(rng, 5)) if rng.random() < 0.2 else text)
    return out
