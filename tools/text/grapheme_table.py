#!/usr/bin/env python3
"""Writes src/text/charsmap_graphemes_table.cpp: the grapheme-break class of every code point, as
Hugging Face `tokenizers` (pip install tokenizers) sees it.

`tokenizers` has no call that cuts text into grapheme clusters, but its Precompiled normalizer
replaces a cluster of fewer than 6 bytes as a whole and the characters of a longer one singly. With
a table that turns every character into "x", the length of the answer shows where clusters end.
Classes that no cluster of fewer than 6 bytes can show (regional indicators) are left out.

usage: grapheme_table.py src/text/charsmap_graphemes_table.cpp
"""
import struct
import sys

import tokenizers
from tokenizers.normalizers import Precompiled

OTHER, CONTROL, CR, LF, EXTEND, LINKER, NON_JOINER, ZWJ, SPACING, PREPEND = range(10)
L, V, T, LV, LVT, PICTOGRAPH, CONSONANT = range(10, 17)


def everything_to_x():
    """A Darts array that accepts any one UTF-8 character, its equal subtrees shared."""
    root, last, last2, last3, leaf = 256, 512, 768, 1024, 1280
    units = [0] * (leaf + 256)

    def link(block, byte, target):
        at = block ^ byte
        units[at] = (at ^ target) << 10 | (target == leaf) << 8 | byte

    units[0] = root << 10
    for byte in range(1, 0x80):
        link(root, byte, leaf)
    for byte in range(0xC2, 0xF5):
        link(root, byte, last if byte < 0xE0 else last2 if byte < 0xF0 else last3)
    for byte in range(0x80, 0xC0):
        link(last, byte, leaf)
        link(last2, byte, last)
        link(last3, byte, last2)
    units[leaf] = 1 << 31
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + b"x\0"


NORMALIZER = Precompiled(everything_to_x())


def clusters(text):
    return len(NORMALIZER.normalize_str(text))


def classify(code):
    c = chr(code)
    mark, ka, virama, joiner, sign = "\u0300", "\u0915", "\u094d", "\u200d", "\u00a9"
    if clusters("a" + c) == 1:  # goes with what is before it
        if c == joiner:
            return ZWJ
        if clusters(sign + c + joiner + sign + mark) != 5:
            return SPACING
        if clusters(ka + virama + c + ka + mark) != 5:
            return NON_JOINER
        return LINKER if clusters(ka + c + ka + mark) == 4 else EXTEND
    if clusters(c + mark + mark) == 2:
        return {"\r": CR, "\n": LF}.get(c, CONTROL)
    if clusters(c + "a") == 1:
        return PREPEND
    if clusters(sign + joiner + c) == 3:
        return PICTOGRAPH
    if clusters(c + virama + ka + mark) == 4:
        return CONSONANT
    before_v = clusters(c + "\u1161" + mark) == 3
    before_t = clusters(c + "\u11a8" + mark) == 3
    after_l = clusters("\u1100" + c + mark) == 3
    after_v = clusters("\u1161" + c + mark) == 3
    if before_v and before_t:
        return V if after_v else LV
    if before_v:
        return L
    if before_t:
        return LVT if after_l and not after_v else T
    return OTHER


def main():
    assert clusters("\r\n") == 1
    runs = []
    for code in range(0x110000):
        surrogate = 0xD800 <= code < 0xE000
        value = OTHER if surrogate or code in range(0x20, 0x7F) else classify(code)
        if 0xAC00 <= code < 0xAC00 + 11172:
            assert value == (LVT if (code - 0xAC00) % 28 else LV)
            value = OTHER  # computed, not looked up
        if not runs or runs[-1][1] != value:
            runs.append((code, value))
    words = ["0x%x" % (start << 8 | value) for start, value in runs]
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " " + word + ","
    lines.append(line)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"""// Made by tools/text/grapheme_table.py from tokenizers {tokenizers.__version__}.
#include "text/charsmap_graphemes.h"

namespace hone::text {{

const uint32_t grapheme_run_count = {len(words)};

// clang-format off
const uint32_t grapheme_runs[{len(words)}] = {{
""" + "\n".join(lines) + """
};
// clang-format on

}  // namespace hone::text
""")


if __name__ == "__main__":
    main()
