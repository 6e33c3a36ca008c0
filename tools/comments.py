#!/usr/bin/env python3
"""Fails where a comment begins in the middle of a sentence, or goes on with half of one."""
import pathlib
import re
import sys

# Strings and characters are matched too, so that slashes in them open no comment.
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*)|/\*.*?\*/|\'(?:\\[^\']+|[^\'\\])\'|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"',
    re.DOTALL)
# A comment that begins so refers to a sentence that is not there.
OPENERS = ("of", "and", "or", "but", "that", "which", "those", "the same", "as", "with", "for",
           "once", "also", "likewise")
# Behind code a sentence may begin so ("From here on ..."); a phrase in small letters may not.
BEHIND_CODE = ("from", "to", "until", "around", "behind", "between", "under", "before", "after",
               "without", "since", "again", "meanwhile", "then", "on")
# Behind a member these can be its definition ("by slot"); before a declaration they cannot.
BEFORE_CODE = ("by", "from", "to", "until", "around", "behind", "between", "its", "their", "called",
               "asked", "may", "must", "safe", "again", "meanwhile", "internal")
# A sentence behind another one lacks its subject or its verb where it is like this.
FRAGMENT = re.compile(r"(called|asked|may|must|(not )?to be|safe from|immutable|internal)\b"
                      r"|(for|on|in|at|of|by|with|from)( [^ ]+){1,5}$", re.IGNORECASE)


def comments_of(text: str):
    """Line, text and whether it stands behind code, of each comment; the lines of one are joined."""
    end, place, found = 0, None, []
    for match in TOKEN.finditer(text):
        if match["comment"] is None:
            continue
        line = text.count("\n", 0, match.start()) + 1
        marker, words = re.match(r"(/+<?)\s*(.*)", match["comment"]).groups()
        begin = text.rfind("\n", 0, match.start()) + 1
        trails = bool(text[begin:match.start()].strip())
        before, place = place, (match.start() - begin, marker)
        if not trails and line == end + 1 and place == before:
            found[-1][1] += " " + words
        else:
            found.append([line, words, trails])
        end = line
    return [tuple(comment) for comment in found]


def opener_of(words: str, trails: bool) -> str:
    """The words with which a comment may not begin, where it begins so; otherwise empty."""
    if trails and (opener := next((o for o in BEHIND_CODE if re.match(rf"{o}\b", words)), "")):
        return opener
    openers = OPENERS if trails else OPENERS + BEFORE_CODE
    return next((o for o in openers if re.match(rf"{o}\b", words, re.IGNORECASE)), "")


def fragment_of(words: str) -> str:
    """The first sentence behind another one that cannot be read alone; otherwise empty."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", words)[1:]
    return next((s for s in sentences if FRAGMENT.match(s)), "")


def checked_files(root: pathlib.Path):
    """All sources of C++ and CUDA, those of tests and benchmarks too."""
    return sorted(path for folder in ("include", "src", "tests", "bench")
                  for path in (root / folder).rglob("*")
                  if path.suffix in (".h", ".cpp", ".inc", ".cu", ".cuh"))


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = 0
    for path in checked_files(root):
        for line, words, trails in comments_of(path.read_text()):
            if opener := opener_of(words, trails):
                print(f"{path.relative_to(root)}:{line}: a comment begins with '{opener}': {words[:60]}")
                faults += 1
            elif fragment := fragment_of(words):
                print(f"{path.relative_to(root)}:{line}: a sentence that cannot stand alone: {fragment[:60]}")
                faults += 1
    print(f"comments: {'ok' if not faults else f'{faults} cannot be read alone'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
