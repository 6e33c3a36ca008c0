"""What goes wrong, as exceptions: the one line that the program prints, in Python's spelling."""
import os
import re


class Error(Exception):
    """Everything that hone says is wrong. Each is also one of Python's own: a wrong argument or file
    is a ValueError, a missing file a FileNotFoundError, a full disk an OSError, and so on.

    `kind` is "usage", "bad_file", "unsupported", "io", "memory", "failed" or "internal".
    """

    kind: str = "failed"


class UsageError(Error, ValueError):
    kind = "usage"


class BadFileError(Error, ValueError):
    kind = "bad_file"


class MissingFileError(Error, FileNotFoundError):
    kind = "bad_file"


class UnsupportedError(Error, NotImplementedError):
    kind = "unsupported"


class SystemRefusedError(Error, OSError):
    kind = "io"


class NotEnoughMemoryError(Error, MemoryError):
    kind = "memory"


class FailedError(Error, RuntimeError):
    kind = "failed"


class InternalError(Error, RuntimeError):
    kind = "internal"


_CLASSES: dict[str, type[Error]] = {
    each.kind: each
    for each in (UsageError, BadFileError, UnsupportedError, SystemRefusedError,
                 NotEnoughMemoryError, FailedError, InternalError)
}
_NO_FOLDER = re.compile(r"model: (no folder '|'.*' not found; )")
# What is told to look at a command's help stays a command.
_FLAG = re.compile(r"(?<![\w-])--(?!help)([a-zA-Z][\w-]*)")


def _names_missing_file(message: str) -> bool:
    if _NO_FOLDER.match(message):
        return True
    path, opened, _ = message.partition(": cannot open: ")
    return bool(opened) and not os.path.exists(path)


def made(kind: str, message: str) -> Error:
    """Gives the exception of an error; the extension module calls it."""
    if kind in ("usage", "bad_file") and _names_missing_file(message):
        return MissingFileError(message)
    return _CLASSES[kind](message)


def in_arguments(message: str) -> str:
    """Gives a message of the command line with arguments in place of flags."""
    message = message.replace("unknown option", "unknown argument")
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), message)
