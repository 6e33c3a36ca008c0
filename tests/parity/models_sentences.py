"""Sentences and pairs that the live comparison sends through both programs."""

ORDINARY = [
    "a gorgeous, witty, seductive movie .",
    "it 's slow -- very , very slow .",
    "The quick brown fox jumps over the lazy dog.",
    "I would not recommend this film to anyone, not even to my worst enemy!",
    "What is the capital of France?",
    "one",
    "unflinchingly bleak and desperate",
    "In 1998 the company paid $1,234.56 (about 12%) for e-mail addresses like a.b@c.org.",
]

NASTY = [
    "",
    " ",
    "  leading and   inner  spaces\tand\ttabs ",
    "line one\nline two\r\nline three",
    "café naïve Ångström ﬁne ½ ① ＡＢＣ",
    "e\u0301 a\u0308\u0323 \u1100\u1161\u11a8",
    "日本語と中文 mixed with English",
    "👩‍👩‍👧‍👦 family 👍🏽 flags 🇫🇷",
    "שלום עולם مرحبا بالعالم",
    "zero\u200bwidth\u00a0nbsp\u3000ideographic\ufeffbom\u00adsoft",
    "control \x01\x02\x7f characters",
    "[CLS] [SEP] [MASK] <s> </s> <mask>",
    "\u0130stanbul \u1e9e \u03a3\u03c2 \u01c5",
    "don't can't we've I'm \"quoted\" ``old'' 'single'",
    "x" * 150,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "!!! ... ??? --- ___ ### $$$",
    "long input " * 400,
]

PAIRS = [
    ("The cat sat on the mat.", "A cat was sitting on a mat."),
    ("", "only the second"),
    ("only the first", ""),
    ("short", "very long second part " * 200),
    ("very long first part " * 200, "short"),
    ("long one " * 300, "long two " * 300),
    ("日本 café", "naïve 👍"),
]
