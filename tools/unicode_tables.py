#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc by probing the `tokenizers` package over all code points.

The package carries Unicode tables of several ages (Rust's standard library, the regex crate,
unicode-normalization, unicode_categories), so nothing is taken from the Unicode standard itself:
every class and mapping is what the package was seen to do.

    python tools/unicode_tables.py [OUT]
"""
import sys
import unicodedata
from pathlib import Path

import tokenizers
from tokenizers import Regex
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xAC00 + 11172)

# Bit order is that of enum Class in unicode.h.
CLASSES = ["whitespace", "word", "bert_punctuation", "numeric", "mark", "nonspacing", "bert_dropped",
           "bert_space", "chinese", "lowercases", "decomposes", "decomposes_compat", "reorders",
           "nmt_dropped", "nmt_space", "regex_proxied"]


def splits_as(pre_tokenizer, c):
    """The pre-tokens of a + c + a; 'a' is a letter in every table."""
    return [piece for piece, _ in pre_tokenizer.pre_tokenize_str("a" + chr(c) + "a")]


def probe_classes():
    def whole(pre, c):
        return splits_as(pre, c) == ["a" + chr(c) + "a"]

    def removed(pre, c):
        return splits_as(pre, c) == ["a", "a"]

    white, bert, words = P.WhitespaceSplit(), P.BertPreTokenizer(), P.Whitespace()
    punct, digits = P.Punctuation(), P.Digits(individual_digits=True)
    clean = N.BertNormalizer(True, False, False, False)
    chinese = N.BertNormalizer(False, True, False, False)
    bert_accents = N.BertNormalizer(False, False, True, False)
    accents, strip, nmt = N.StripAccents(), N.Strip(), N.Nmt()
    bits = {name: set() for name in CLASSES}
    for c in CODES:
        ch = chr(c)
        if removed(white, c):
            bits["whitespace"].add(c)
        if whole(words, c):
            bits["word"].add(c)
        if len(splits_as(bert, c)) == 3:
            bits["bert_punctuation"].add(c)
        if len(splits_as(digits, c)) == 3:
            bits["numeric"].add(c)
        if accents.normalize_str(ch) == "":
            bits["mark"].add(c)
        # NFD comes first: only what is left by itself says anything about the code point
        if "a" == bert_accents.normalize_str("a" + ch):
            bits["nonspacing"].add(c)
        cleaned = clean.normalize_str(ch)
        if cleaned == "":
            bits["bert_dropped"].add(c)
        elif cleaned == " ":
            bits["bert_space"].add(c)
        if chinese.normalize_str(ch) == f" {ch} ":
            bits["chinese"].add(c)
        nmted = nmt.normalize_str(ch)
        if nmted == "":
            bits["nmt_dropped"].add(c)
        elif nmted == " ":
            bits["nmt_space"].add(c)
        # One table must serve all of these; where the package disagrees with itself, stop.
        assert (c in bits["whitespace"]) == removed(bert, c) == (strip.normalize_str(ch) == ""), c
        assert (c in bits["whitespace"]) == removed(words, c), c
        assert (c in bits["bert_punctuation"]) == (len(splits_as(punct, c)) == 3), c
    return bits


def probe_mapping(normalizer):
    return {c: out for c in CODES if (out := normalizer.normalize_str(chr(c))) != chr(c)}


def probe_combining_classes(nfd):
    """Canonical combining classes as ranks: which of two marks moves before the other."""
    low, high = "\u0334", "\u0345"  # class 1 and class 240, the ends of the order
    moving = [c for c in CODES if nfd.normalize_str(chr(c)) == chr(c) and
              (nfd.normalize_str(high + chr(c)) != high + chr(c) or
               nfd.normalize_str(chr(c) + low) != chr(c) + low)]
    moving += [ord(low), ord(high)]

    def before(a, b):
        return nfd.normalize_str(chr(b) + chr(a)) == chr(a) + chr(b) != chr(b) + chr(a)

    groups = []  # of equal class, in order
    for c in sorted(set(moving)):
        lo, hi = 0, len(groups)
        while lo < hi:
            mid = (lo + hi) // 2
            if before(c, groups[mid][0]):
                hi = mid
            elif before(groups[mid][0], c):
                lo = mid + 1
            else:
                groups[mid].append(c)
                break
        else:
            groups.insert(lo, [c])
    return {c: rank + 1 for rank, group in enumerate(groups) for c in group}


def probe_compositions(nfc, canonical):
    seconds = {out[-1] for out in canonical.values() if len(out) > 1}
    firsts = set()
    for c, out in canonical.items():
        if len(out) > 1:
            firsts.add(out[0])
            firsts.add(nfc.normalize_str(out[:-1]))
    pairs = {}
    for a in firsts:
        if len(a) != 1:
            continue
        for b in seconds:
            out = nfc.normalize_str(a + b)
            if len(out) == 1:
                pairs[ord(a), ord(b)] = ord(out)
    return pairs


def probe_regex_proxies():
    """Code points that the package's Oniguruma classifies otherwise than the one hone links
    (Debian 12's, of Unicode 14, which is also this Python's): each with one of the same category
    and UTF-8 length that both know, to stand for it while an expression is matched."""
    assert unicodedata.unidata_version == "14.0.0", "run with Python 3.11"
    text = "".join(map(chr, CODES))
    category = {}
    for name in sorted({unicodedata.category(chr(c)) for c in CODES}):
        matched = P.Split(Regex(rf"\p{{{name}}}"), "removed", invert=True)
        for at in range(0, len(text), 4096):
            for piece, _ in matched.pre_tokenize_str(text[at:at + 4096]):
                category.update((ord(x), name) for x in piece)
    proxies, known = {}, {}
    for c in CODES:
        if category[c] == unicodedata.category(chr(c)):
            known.setdefault((category[c], len(chr(c).encode())), c)
    for c in CODES:
        if category[c] != unicodedata.category(chr(c)):
            han = category[c] == "Lo" and c >= 0x20000
            proxies[c] = 0x20000 if han else known[category[c], len(chr(c).encode())]
    return proxies


def runs(values):
    """(first, last, value) for stretches of equal non-zero values."""
    out = []
    for c in range(0x110000):
        v = values.get(c, 0)
        if out and out[-1][2] == v and out[-1][1] == c - 1:
            out[-1][1] = c
        elif v:
            out.append([c, c, v])
    return out


def lowercase_runs(lower):
    """(first, last, step, delta) for code points that become one code point."""
    out = []
    for c in sorted(c for c in lower if len(lower[c]) == 1):
        delta = ord(lower[c]) - c
        if out and out[-1][3] == delta:
            first, last, step, _ = out[-1]
            gap = c - last
            if gap <= 2 and (first == last or gap == step):
                out[-1][1], out[-1][2] = c, gap
                continue
        out.append([c, c, 1, delta])
    return out


def fill(parts):
    """Parts as indented lines of at most 100 columns."""
    lines = ["   "]
    for part in parts:
        if len(lines[-1]) + len(part) > 100:
            lines.append("   ")
        lines[-1] += part
    return "\n".join(lines)


def mappings(name, table):
    """Flat: code point with the length of its mapping in the top byte, then the mapping."""
    words = []
    for c, s in sorted(table.items()):
        words.append(c | len(s) << 24)
        words += [ord(x) for x in s]
    return f"constexpr uint32_t {name}[] = {{\n" + fill(f" {w:#x}," for w in words) + "\n};\n\n"


def rows(name, kind, items):
    return f"constexpr {kind} {name}[] = {{\n" + fill(" {" + ",".join(i) + "}," for i in items) + "\n};\n\n"


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else
               Path(__file__).parent.parent / "src/text/unicode_tables.inc")
    nfd, nfkd, nfc = N.NFD(), N.NFKD(), N.NFC()
    bits = probe_classes()
    canonical = probe_mapping(nfd)
    compat = probe_mapping(nfkd)
    lower = probe_mapping(N.Lowercase())
    ccc = probe_combining_classes(nfd)
    pairs = probe_compositions(nfc, {c: s for c, s in canonical.items() if c not in HANGUL})
    for c in HANGUL:  # done by arithmetic
        index = c - 0xAC00
        jamo = chr(0x1100 + index // 588) + chr(0x1161 + index % 588 // 28)
        jamo += chr(0x11A7 + index % 28) if index % 28 else ""
        assert canonical.pop(c) == jamo == compat.pop(c) and nfc.normalize_str(jamo) == chr(c)
    # "nonspacing" above saw the decomposed form: keep what is true of the code point itself.
    bits["nonspacing"] -= set(canonical)
    bits["lowercases"] = set(lower)
    bits["decomposes"] = set(canonical) | set(HANGUL)
    bits["decomposes_compat"] = set(compat) | set(HANGUL)
    bits["reorders"] = set(ccc)
    proxies = probe_regex_proxies()
    bits["regex_proxied"] = set(proxies)
    classes = {}
    for bit, name in enumerate(CLASSES):
        for c in bits[name]:
            classes[c] = classes.get(c, 0) | 1 << bit
    text = f"// Generated by tools/unicode_tables.py from tokenizers {tokenizers.__version__}; do not edit.\n"
    text += "// clang-format off\n\n"
    text += rows("kClassRuns", "ClassRun", [(f"{a:#x}", f"{b:#x}", f"{v:#x}") for a, b, v in runs(classes)])
    text += rows("kCombiningRuns", "ClassRun", [(f"{a:#x}", f"{b:#x}", str(v)) for a, b, v in runs(ccc)])
    text += rows("kLowercaseRuns", "LowercaseRun",
                 [(f"{a:#x}", f"{b:#x}", str(s), str(d)) for a, b, s, d in lowercase_runs(lower)])
    text += mappings("kLowercaseLong", {c: s for c, s in lower.items() if len(s) > 1})
    text += mappings("kCanonical", canonical)
    text += mappings("kCompat", {c: s for c, s in compat.items() if canonical.get(c) != s})
    text += rows("kCompositions", "Composition",
                 [(f"{a:#x}", f"{b:#x}", f"{c:#x}") for (a, b), c in sorted(pairs.items())])
    text += rows("kRegexProxyRuns", "ProxyRun", [(f"{a:#x}", f"{b:#x}", f"{v:#x}") for a, b, v in runs(proxies)])
    text += "// clang-format on\n"
    out.write_text(text)
    print(f"{out}: {len(text)} bytes, {len(runs(classes))} class runs, {len(set(ccc.values()))} combining "
          f"classes, {len(pairs)} compositions")


if __name__ == "__main__":
    main()
