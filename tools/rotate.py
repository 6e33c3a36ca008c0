#!/usr/bin/env python3
"""Prints one of N parts of the lines that it reads, so that all are seen over time.

    git ls-files 'src/*.cpp' | tools/rotate.py 8

The commit's hash chooses the part, so that a run on one commit can be made again; ROTATE=K in the
environment chooses part K. Neighbours go into different parts.
"""
import hashlib
import os
import subprocess
import sys


def turn(parts):
    """A number that differs between commits; those for different numbers of parts are unrelated."""
    if chosen := os.environ.get("ROTATE"):
        return int(chosen)
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return int(hashlib.sha256(f"{head.stdout.strip()} {parts}".encode()).hexdigest()[:12], 16)


def part_of(items, parts, number):
    return items[number % parts :: parts]


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) == 0:
        sys.exit("usage: tools/rotate.py N")
    parts = int(sys.argv[1])
    chosen = part_of(sys.stdin.read().splitlines(), parts, turn(parts))
    print(f"== part {turn(parts) % parts} of {parts} (ROTATE={turn(parts) % parts} chooses it again)",
          file=sys.stderr)
    for item in chosen:
        print(item)


if __name__ == "__main__":
    main()
