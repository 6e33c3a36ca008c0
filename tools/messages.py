#!/usr/bin/env python3
"""Fails where a string below src/cli names a flag: only the command line has flags."""
import pathlib
import re
import sys

# Comments and characters are matched too, so that a quote in them opens no string.
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|\'(?:\\[^\']+|[^\'\\])\'|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
FLAG = re.compile(r"--[A-Za-z]")


def flags_in(text: str) -> list[tuple[int, str]]:
    """Line and literal of every string that has a flag."""
    found = []
    for match in TOKEN.finditer(text):
        literal = match[0]
        # A style sheet's variables are spelt as flags are.
        if literal.startswith(('"', 'R"')) and FLAG.search(literal) and "var(--" not in literal:
            found.append((text.count("\n", 0, match.start()) + 1, literal))
    return found


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    faults = 0
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inc", ".cu", ".cuh"):
            continue
        if path.relative_to(root).parts[0] == "cli":
            continue
        for line, literal in flags_in(path.read_text()):
            print(f"{path.relative_to(root.parent)}:{line}: names a flag: {literal}")
            faults += 1
    print(f"messages: {'ok' if not faults else f'{faults} name a flag below src/cli'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
