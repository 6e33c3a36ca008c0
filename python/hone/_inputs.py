"""What users hand in as texts."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Image: TypeAlias = str | os.PathLike[str] | NDArray[np.uint8]

Pair: TypeAlias = tuple[str, str]
Text: TypeAlias = str | Pair


def is_one(texts: Text | Iterable[Text]) -> bool:
    """Says whether it is a text or a pair, not many of them: a tuple is a pair."""
    return isinstance(texts, (str, tuple))


def split(texts: Iterable[Text]) -> tuple[list[str], list[str | None]]:
    """Gives the first texts, and the second ones where there are pairs."""
    given = list(texts)
    if all(isinstance(text, str) for text in given):
        return given, []  # type: ignore[return-value]  # the line above says what they are
    firsts: list[str] = []
    seconds: list[str | None] = []
    for text in given:
        first, second = (text, None) if isinstance(text, str) else _pair(text)
        firsts.append(first)
        seconds.append(second)
    return firsts, seconds


def _pair(text: object) -> Pair:
    if isinstance(text, (tuple, list)) and len(text) == 2:
        first, second = text
        if isinstance(first, str) and isinstance(second, str):
            return first, second
    raise TypeError(f"texts: expected a str or a pair of them, got {text!r:.80}")


def is_one_image(images: Image | Iterable[Image]) -> bool:
    """Says whether it is a path or one image's array, not many of them."""
    return isinstance(images, (str, os.PathLike)) or getattr(images, "ndim", 0) == 3


def split_images(images: Iterable[Image]) -> list[Any]:
    """Gives paths as strings; arrays stay what they are."""
    return [os.fspath(each) if isinstance(each, os.PathLike) else each for each in images]
