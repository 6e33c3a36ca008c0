"""What users hand in as texts."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

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
