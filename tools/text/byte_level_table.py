#!/usr/bin/env python3
"""Writes src/text/byte_level_table.cpp: the classes \\p{L}, \\p{N} and \\s of every code point, as
the Oniguruma inside Hugging Face `tokenizers` (pip install tokenizers) sees them.

usage: byte_level_table.py src/text/byte_level_table.cpp
"""
import sys

import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

CLASSES = {r"\p{L}": 1, r"\p{N}": 2, r"\s": 3}
BLOCK = 256


def probe():
    """Class of every code point; 0 for the rest and for surrogates, which no text contains."""
    table = [0] * 0x110000
    for expression, value in CLASSES.items():
        matches = Split(Regex(expression), "removed", invert=True)
        for start in range(0, 0x110000, 0x1000):
            codes = [c for c in range(start, start + 0x1000) if not 0xD800 <= c < 0xE000]
            text = "".join(map(chr, codes))
            for match, _ in matches.pre_tokenize_str(text) if text else ():
                assert len(match) == 1 and table[ord(match)] == 0
                table[ord(match)] = value
    return table


def main():
    table = probe()
    blocks, index = {}, []
    for start in range(0, len(table), BLOCK):
        block = tuple(table[start : start + BLOCK])
        index.append(blocks.setdefault(block, len(blocks)))
    assert len(blocks) <= 256 and not any(table[-BLOCK:])
    while index[-1] == index[-2]:
        index.pop()
    words = []
    for block in blocks:
        for start in range(0, BLOCK, 32):
            words.append(sum(v << (2 * i) for i, v in enumerate(block[start : start + 32])))

    def rows(values, form, per_line):
        lines = [values[i : i + per_line] for i in range(0, len(values), per_line)]
        return ",\n".join("    " + ", ".join(form.format(v) for v in line) for line in lines)

    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"""// Made by tools/text/byte_level_table.py from tokenizers {tokenizers.__version__}.
#include "text/byte_level_table.h"

namespace hone::text {{

// clang-format off
const uint32_t byte_level_block_count = {len(index)};

const uint8_t byte_level_blocks[{len(index)}] = {{
{rows(index, "{}", 24)}}};

const uint64_t byte_level_words[{len(words)}] = {{
{rows(words, "0x{:016x}", 5)}}};
// clang-format on

}}  // namespace hone::text
""")


if __name__ == "__main__":
    main()
