"""Why a text gets its label."""
from __future__ import annotations

from typing import Any, NamedTuple


class Phrase(NamedTuple):
    """A part of a text, and what it gave to the answer's logit."""

    text: str
    start: int
    """Characters of the text: begin, as `end`."""
    end: int
    share: float
    """Below 0 it speaks against the answer."""
    ablated_score: float | None
    """The answer's score without this phrase, where that was asked for."""
    flips: bool | None
    """Whether the answer is then another one."""


class Concept(NamedTuple):
    """A phrase of the training set that was looked up for a text."""

    text: str
    share: float
    similarity: float
    labels: dict[str, int]
    """How often it stood in rows of each label."""
    row: int
    """A training row that it comes from."""


class Shares(NamedTuple):
    """Parts of the answer's logit, which add up to it."""

    label: float
    """What the classifier's own head gave."""
    phrases: float
    concepts: float


class Explanation(NamedTuple):
    """An answer with its reasons."""

    label: str
    score: float
    scores: dict[str, float]
    labels: list[str]
    """All classes of at least 0.5, for a multi-label model."""
    tokens: int
    truncated: bool
    phrases: list[Phrase]
    """Words, or the model's own phrases; those that gave most first."""
    concepts: list[Concept]
    shares: Shares | None
    tree: str
    """The model's tree: brackets over the text's words."""
    cut: list[str]
    """What did not fit into the model."""


def explanation(fields: tuple[Any, ...]) -> Explanation:
    made = Explanation._make(fields)
    return made._replace(
        phrases=[Phrase._make(each) for each in made.phrases],
        concepts=[Concept._make(each) for each in made.concepts],
        shares=None if made.shares is None else Shares._make(made.shares),
    )
