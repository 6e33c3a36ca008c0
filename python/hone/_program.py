"""The command `hone`: the program that lies in the package takes this process over."""
import os
import sys
from typing import NoReturn

from ._plugins import point_to_cuda


def main() -> NoReturn:
    point_to_cuda()
    program = os.path.join(os.path.dirname(__file__), "bin", "hone")
    os.execv(program, ["hone", *sys.argv[1:]])
