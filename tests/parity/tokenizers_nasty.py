"""Texts that tokenizers trip over, made from rules alone."""
import random

WHITESPACE = ("\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
              "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff\x1c\x1d\x1e\x1f")
MARKS = "\u0300\u0301\u0303\u0308\u0323\u0327\u0328\u0334\u0345\u0315\u031b\u0360\u20d0\u3099\u309a\u0f71\u0f72" \
        "\u302e\u302f\U0001d165\U0001d16d\u05b0\u05bc\u0651\u064e\u093c\u094d\u09be\u0b3e\u1161\u11a8"
SPECIALS = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "<s>", "</s>", "<mask>", "<unk>", "<pad>",
            "[mask]", "<S>", "[CLS", "SEP]", "``", "''", "▁", "▁▁", "Ġ", "##", "##s", "'s", "'T", "'ll"]
EMOJI = ["👩‍👩‍👧‍👦", "👍🏽", "🏳️‍🌈", "🇩🇪🇫🇷", "☝️", "❤️‍🔥", "1️⃣", "🧑🏿‍🚀", "\u200d", "\ufe0f", "😀😀😀"]
WORDS = ["Hello", "world", "naïve", "café", "cafe\u0301", "Ångström", "ÀÉÎÕÜ", "straße", "İstanbul", "ΣΊΣΥΦΟΣ",
         "ǅungla", "ﬁnance", "ﬃ", "①②③", "½", "ｆｕｌｌ", "ﾊﾝｶｸ", "日本語テスト", "中文字符", "한국어", "한국어",
         "שָׁלוֹם", "العَرَبِيَّة", "नमस्ते", "ไทยภาษา", "မြန်မာ", "ᏣᎳᎩ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐐷𐐷", "\u2126\u212b", "a\u0323\u0307",
         "ạ̇", "ö\u0323", "\u1e9b\u0323", "\u0958", "\u2adc", "don't", "they'll", "I'VE", "U.S.A.", "3,000.50",
         "foo_bar", "e-mail@example.com", "http://x.y/z?q=1&r=2", "C++", "(((", "...!!!???", "—–-‐", "“quoted”", "1st",
         "2ND", "\u00ad", "so\u00adft", "\u0130\u0131", "\u01c4\u01c5\u01c6", "\ufb01", "\u1e9e", "\u03f4\u2126"]


def blocks():
    """A few characters of every 128 code points, and all of them in rows of 16 up to U+3100."""
    for start in range(0, 0x110000, 0x80):
        if 0xD800 <= start < 0xE000:
            continue
        codes = list(range(start, start + 0x80))
        text = "".join(map(chr, codes[::5]))
        yield text
        yield " ".join(map(chr, codes[::17]))
        yield "a".join(map(chr, codes[::13])) + "Z"
    for start in range(0, 0x3100, 16):
        yield "".join(map(chr, range(start, start + 16)))
        yield " x".join(map(chr, range(start, start + 16)))


def invalid(rng, count):
    for _ in range(count):
        raw = bytearray("".join(rng.choice(WORDS) + " " for _ in range(rng.randint(1, 8))).encode())
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(raw) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                raw[at:at] = bytes([rng.randrange(0x80, 0x100)])
            elif kind == 1 and raw:
                del raw[at:at + rng.randint(1, 3)]
            elif kind == 2:
                raw[at:at] = rng.choice([b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe2\x82", b"\xf0\x9f\x98"])
            else:
                raw[at:at] = bytes(rng.randrange(256) for _ in range(3))
        yield bytes(raw)


def random_text(rng, longest=12):
    parts = []
    for _ in range(rng.randint(0, longest)):
        kind = rng.randrange(12)
        if kind < 4:
            parts.append(rng.choice(WORDS))
        elif kind == 4:
            parts.append("".join(rng.choice(WHITESPACE) for _ in range(rng.randint(1, 4))))
        elif kind == 5:
            parts.append(rng.choice("aeouAEiIcnsS日ㄱ가") + "".join(rng.choice(MARKS) for _ in range(rng.randint(1, 5))))
        elif kind == 6:
            parts.append(rng.choice(SPECIALS))
        elif kind == 7:
            parts.append(rng.choice(EMOJI))
        elif kind == 8:
            parts.append("".join(chr(rng.choice((rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0xD800),
                                                 rng.randrange(0xE000, 0x110000)))) for _ in range(rng.randint(1, 6))))
        elif kind == 9:
            parts.append("".join(rng.choice("abcdefgtheingABC0123.,!?'\"-_`") for _ in range(rng.randint(1, 14))))
        elif kind == 10:
            parts.append("".join(chr(rng.randrange(0x20)) for _ in range(rng.randint(1, 3))))
        else:
            parts.append(rng.choice(WORDS).upper())
        if rng.random() < 0.6:
            parts.append(" ")
    return "".join(parts)


def long_words():
    yield "a" * 100
    yield "a" * 101
    yield "é" * 100
    yield "é" * 101
    yield "a" * 255 + " b"
    yield "a" * 256 + " b"
    yield "ab" * 128 + "é c"
    yield "A" * 1_000_000
    yield "supercalifragilistic" * 50_000
    yield "日" * 100_000
    yield "e\u0301" * 100_000
    yield "a\u0301\u0323\u0308" * 20_000 + "b"
    yield "👩‍👩‍👧‍👦" * 10_000
    yield "." * 100_000
    yield " " * 100_000 + "x" + "\n" * 100_000
    yield "\u00ad" * 50_000 + "y"


def texts(seed=1, count=20_000, long=True):
    rng = random.Random(seed)
    out = ["", " ", "\n", "a", "\u0301", "\x00", "\ufffd", "[CLS]", " <mask> ", "<mask><mask>", "a<mask>b"]
    out += WORDS + SPECIALS + EMOJI + [f"a{c}b" for c in WHITESPACE + MARKS] + list(WHITESPACE + MARKS)
    out += [f"{a} {s} {b}" for s in SPECIALS for a in ("x", " ", "é") for b in ("y", " ", "")]
    out += list(blocks()) + list(invalid(rng, count // 10))
    out += [random_text(rng) for _ in range(count)]
    out += ["\u05d0\u05d1 abc \u202e\u202d rtl \u200f\u200e", "\u0627\u0644\u0633\u0644\u0627\u0645 123 \u06f1\u06f2\u06f3"]
    return out + (list(long_words()) if long else [])


def pairs(seed=2, count=3_000):
    rng = random.Random(seed)
    out = [("", ""), ("a", ""), ("", "b"), (b"\xff", b"\xfe a")]
    return out + [(random_text(rng), random_text(rng)) for _ in range(count)]
