"""Writes hone/_train_arguments.py, the types of hone.train's arguments, from what the program says:

    train_arguments.py HONE FILE
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (?:-\w,)?(--[\w,-]+)(?: (\S+(?: \.\.\.)?))?(?:  +(.*))?$")
TYPES = {
    "": "bool",
    "N": "int",
    "X": "float",
    "BOOL": "bool",
    "DIR": "Path",
    "FILE": "Path",
    "FILE ...": "Path | Sequence[Path]",
    "N,N,...": "str | Sequence[int]",
    "X,...": "str | Sequence[float]",
    "NAME,...": "str | Sequence[str]",
    "GLOB,...": "str | Sequence[str]",
}
# Options that say what the program prints, and those by which it starts processes.
LEFT_OUT = {"help", "version", "json", "nproc_per_node", "max_restarts", "min_ranks",
            "comm_timeout", "ddp_timeout", "nnodes"}
HEAD = '''"""The arguments of hone.train, written by python/train_arguments.py from `hone train --help-all`."""
import os
from collections.abc import Sequence
from typing import TypeAlias, TypedDict

Path: TypeAlias = str | os.PathLike[str]


class TrainArguments(TypedDict, total=False):
'''


def declared(text: str) -> dict[str, str]:
    """The type of each argument."""
    types = {}
    for line in text.splitlines():
        if match := OPTION.match(line):
            kind = TYPES.get(match[2] or "", "str")
            for name in match[1].split(","):
                types[name.removeprefix("--").replace("-", "_")] = kind
    types["resume_from_checkpoint"] += " | bool"
    types["report_to"] += " | Sequence[str]"
    return {name: kind for name, kind in types.items() if name not in LEFT_OUT}


def main() -> None:
    program, file = sys.argv[1:]
    done = subprocess.run([program, "train", "--help-all"], check=True, capture_output=True, text=True)
    lines = (f"    {name}: {kind} | None\n" for name, kind in declared(done.stdout).items())
    pathlib.Path(file).write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main()
