#!/usr/bin/env python3
"""Judges the tests that were skipped: each must be one that tests/may_skip.txt allows.

    tools/skipped.py BUILD          after ctest in a build folder
    tools/skipped.py --gpu LOG...   outputs of test programs that must have found a GPU

Prints how many were skipped, by reason. Exit code 1 where one may not be.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = re.compile(r'^Command: "(?:.*/)?([^/"]+)"')
SKIPPED = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)$")
PYTHON_SKIPPED = re.compile(r"^OK \(.*skipped=(\d+)")
NO_GPU = "no GPU:"


def read_allowed(text, gpu=False):
    """Rows of (tests, reason): a pattern of PROGRAM:SUITE.TEST, and how what the test says begins.
    With a GPU, rows for the lack of one do not count."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise SystemExit(f"may_skip.txt:{number}: expected TESTS | SAYS | WHY, got {line!r}")
        if not (gpu and fields[1].startswith(NO_GPU)):
            rows.append((fields[0], fields[1]))
    return rows


def read_skipped(lines, program):
    """(PROGRAM:SUITE.TEST, reason) for each test that a log says was skipped."""
    reason, found = "", []
    for before, line in zip([""] + lines, lines):
        if match := COMMAND.match(line):
            program = match[1]
        elif before.endswith(": Skipped"):
            reason = line.strip()
        elif match := SKIPPED.match(line):
            found.append((f"{program}:{match[1]}", reason))
            reason = ""
        elif match := PYTHON_SKIPPED.match(line):
            found += [(f"{program}:python", "skipped by unittest")] * int(match[1])
    return found


def may_skip(rows, test, reason):
    return any(fnmatch.fnmatchcase(test, tests) and fnmatch.fnmatchcase(reason, says + "*")
               for tests, says in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="the lack of a GPU is no excuse")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    rows = read_allowed((ROOT / "tests/may_skip.txt").read_text(), args.gpu)
    found = []
    for path in args.paths:
        log = path / "Testing/Temporary/LastTest.log" if path.is_dir() else path
        found += read_skipped(log.read_text(errors="replace").splitlines(), path.stem)
    for reason, count in collections.Counter(reason for _, reason in found).items():
        print(f"skipped {count}: {reason}")
    refused = [(test, reason) for test, reason in found if not may_skip(rows, test, reason)]
    for test, reason in refused:
        print(f"may not be skipped (tests/may_skip.txt): {test}: {reason or 'no reason given'}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
