#!/usr/bin/env python3
"""Puts faults into a copy of the sources and checks that tests find them (tests/mutants.txt).

    tools/mutants.py [--check] [--pick K] [NAME...]

Without names all rows; --pick K takes about K of them, others on another commit (tools/rotate.py).
--check builds nothing: it says whether every row's text is in its file once, and whether its test
program has such tests.
The copy is build-mutants/tree and keeps what it built. A row passes where its tests pass without
the fault and one of them fails with it. Exit code 1 where a fault SURVIVED, or a row is no longer
right: its text is not in the file once, the sources do not build with it, or no test has its name.
"""
import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import rotate

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build-mutants/tree"
SECONDS = 600  # a fault may make a test run on for ever


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    before: str
    after: str
    program: str
    tests: str


class RowError(Exception):
    pass


def read_table(text):
    mutants = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip().replace("\\n", "\n") for field in line.split(" | ")]
        if len(fields) != 6 or not all(fields):
            raise RowError(f"mutants.txt:{number}: expected 6 fields, got {len(fields)}: {line}")
        mutants.append(Mutant(*fields))
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise RowError(f"mutants.txt: {name} is there twice")
    return mutants


def mutated(mutant, text):
    count = text.count(mutant.before)
    if count != 1:
        raise RowError(f"{mutant.name}: {mutant.file} has {mutant.before!r} {count} times, not once")
    return text.replace(mutant.before, mutant.after)


def named_tests(mutant, folders):
    """Fails where no source of the row's test program has the words of its filter."""
    words = re.findall(r"[A-Za-z0-9_]{3,}", mutant.tests)
    for folder, text in folders:
        if mutant.program == "_".join(folder.parts) + "_test" and all(w in text for w in words):
            return
    raise RowError(f"{mutant.name}: {mutant.program} has no test {mutant.tests}")


def test_folders():
    """The folders of tests with the text of their sources."""
    sources = collections.defaultdict(str)
    for path in sorted((ROOT / "tests").rglob("*.cpp")):
        sources[path.parent.relative_to(ROOT / "tests")] += path.read_text()
    return list(sources.items())


def copy_sources():
    """Makes the copy like the working tree; what is the same already keeps its time."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, TREE / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for path in TREE.rglob("*"):
        name = str(path.relative_to(TREE))
        if path.is_file() and not name.startswith("build/") and name not in names:
            path.unlink()


def call(command, **options):
    # Objects of the working tree's own build are found in the cache though paths differ.
    settings = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    return subprocess.run(command, cwd=TREE, env=settings, capture_output=True, text=True,
                          errors="replace", **options)


def build(mutant):
    result = call(["cmake", "--build", "build", "--target", mutant.program])
    if result.returncode:
        raise RowError(f"{mutant.name}: {mutant.program} does not build:\n{result.stdout[-3000:]}")


def passes(mutant):
    try:
        result = call([f"build/{mutant.program}", f"--gtest_filter={mutant.tests}",
                       "--gtest_brief=1"], timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if result.returncode == 0 and "[==========] 0 tests" in result.stdout:
        raise RowError(f"{mutant.name}: {mutant.program} has no test {mutant.tests}")
    return result.returncode == 0


def is_killed(mutant):
    path = TREE / mutant.file
    text = path.read_text()
    fault = mutated(mutant, text)
    build(mutant)
    if not passes(mutant):
        raise RowError(f"{mutant.name}: {mutant.tests} fails without the fault")
    try:
        path.write_text(fault)
        build(mutant)
        return not passes(mutant)
    finally:
        path.write_text(text)


def choose(mutants, names, pick):
    unknown = set(names) - {mutant.name for mutant in mutants}
    if unknown:
        raise RowError(f"mutants.txt has no {', '.join(sorted(unknown))}")
    if names:
        return [mutant for mutant in mutants if mutant.name in names]
    if pick:
        parts = max(1, len(mutants) // pick)
        return rotate.part_of(mutants, parts, rotate.turn(parts))
    return mutants


def unity():
    """Whether the ordinary build joins sources, whose objects are found cached then."""
    cache = ROOT / "build/CMakeCache.txt"
    joined = cache.exists() and "HONE_UNITY:BOOL=ON" in cache.read_text()
    return "ON" if joined else "OFF"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only whether rows fit the sources")
    parser.add_argument("--pick", type=int, default=0, metavar="K", help="about K rows, in turn")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    bad = 0
    try:
        table = read_table((ROOT / "tests/mutants.txt").read_text())
        folders = test_folders()
        for mutant in table:  # all rows, so that a stale one is seen at once
            mutated(mutant, (ROOT / mutant.file).read_text())
            named_tests(mutant, folders)
        chosen = choose(table, args.names, args.pick)
    except (RowError, FileNotFoundError) as error:
        sys.exit(f"mutants: {error}")
    if args.check:
        print(f"mutants: ok, {len(table)} rows")
        return 0
    TREE.mkdir(parents=True, exist_ok=True)
    copy_sources()
    configured = call(["cmake", "--preset", "release", "-DHONE_BENCH=OFF", "-DHONE_CUDA=off",
                       f"-DHONE_UNITY={unity()}"])
    if configured.returncode:
        sys.exit(f"mutants: cannot configure:\n{configured.stdout}{configured.stderr}")
    for mutant in chosen:
        try:
            killed = is_killed(mutant)
            print(f"{mutant.name}: {'killed' if killed else 'SURVIVED'}", flush=True)
        except RowError as error:
            killed = False
            print(f"ERROR: {error}", flush=True)
        bad += not killed
    print(f"mutants: {len(chosen) - bad} of {len(chosen)} killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
