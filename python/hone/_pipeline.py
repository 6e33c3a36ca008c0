"""Answers in the shapes of transformers' pipelines."""
from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import Any, Literal, TypeAlias, overload

from ._inputs import Text
from ._model import Model, Prediction

Input: TypeAlias = str | dict[str, str] | list[Any]
Scores: TypeAlias = dict[str, Any]
# Stands for "not given", because None means all labels.
_UNSET: Any = ""
_GENERATED = 256  # texts of a generator that are answered together where batch_size does not say


def _softmax(logits: list[float]) -> list[float]:
    most = max(logits)
    powers = [math.exp(logit - most) for logit in logits]
    return [power / math.fsum(powers) for power in powers]


def _sigmoid(logits: list[float]) -> list[float]:
    # Both forms are the same number; each is exact where the other would overflow.
    return [1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)) for x in logits]


_FUNCTIONS: dict[str, Callable[[list[float]], list[float]]] = {
    "softmax": _softmax,
    "sigmoid": _sigmoid,
    "none": list,
}


def _text_of(given: Input) -> Text:
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and "text" in given:
        pair = given.get("text_pair")
        return given["text"] if pair is None else (given["text"], pair)
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        first, second = given[0]
        return first, second
    raise ValueError(
        "inputs: expected a str, or a pair as {'text': ..., 'text_pair': ...}, "
        f"got {given!r:.80}"
    )


def _function(name: object) -> str | None:
    if name is None:
        return None
    # transformers has an enumeration, too.
    known = str(getattr(name, "value", name)).lower()
    if known not in _FUNCTIONS:
        raise ValueError(
            f"function_to_apply: expected sigmoid, softmax or none, got {str(name)!r}")
    return known


class _Pipeline:
    """What the pipelines share: one input, a list, or a generator."""

    def __init__(self, model: Model, truncation: bool | None, batch_size: int | None) -> None:
        self.model = model
        self._truncate = truncation is not False
        self._batch_size = batch_size

    def _answer(self, inputs: Any, batch_size: int | None, answer: Callable[[list[Text]], list[Any]]
                ) -> Any:
        if isinstance(inputs, GeneratorType):
            return self._generated(inputs, batch_size or self._batch_size or _GENERATED, answer)
        if isinstance(inputs, list):
            return answer([_text_of(each) for each in inputs])
        return answer([_text_of(inputs)])[0]

    @staticmethod
    def _generated(inputs: Iterable[Any], size: int, answer: Callable[[list[Text]], list[Any]]
                   ) -> Iterator[Any]:
        lot: list[Text] = []
        for each in inputs:
            lot.append(_text_of(each))
            if len(lot) >= size:
                yield from answer(lot)
                lot = []
        yield from answer(lot)


class TextClassificationPipeline(_Pipeline):
    """Labels texts as transformers' pipeline of that name does."""

    def __init__(
        self,
        model: Model,
        *,
        top_k: int | None = _UNSET,
        function_to_apply: str | None = None,
        truncation: bool | None = None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(model, truncation, batch_size)
        self._top_k = top_k
        self._labels = model.labels
        self._function = _function(function_to_apply) or self._default_function()

    def __call__(
        self,
        inputs: Any,
        *,
        top_k: int | None = _UNSET,
        function_to_apply: str | None = None,
        truncation: bool | None = None,
        batch_size: int | None = None,
        padding: object = None,
    ) -> Any:
        """inputs: a str, a pair as {"text", "text_pair"}, a list of those, or a generator of them.
        top_k: that many labels, the best first, in a list; None: all.
        function_to_apply: "softmax", "sigmoid" or "none".
        truncation: False makes a text that is too long an error; otherwise it is cut.
        batch_size: of what a generator gives; else accepted, because batches are packed by tokens.
        padding: accepted; nothing is padded.
        """
        most = self._top_k if top_k == _UNSET else top_k
        function = _FUNCTIONS[_function(function_to_apply) or self._function]
        truncate = self._truncate if truncation is None else truncation is not False

        def answer(texts: list[Text]) -> list[Any]:
            predictions = self.model.predict(texts, truncate=truncate)
            return [self._shaped(each, function, most) for each in predictions]

        result = self._answer(inputs, batch_size, answer)
        return [result] if isinstance(inputs, str) and top_k == _UNSET else result

    def _shaped(self, answer: Prediction, function: Callable[[list[float]], list[float]],
                most: int | None) -> Scores | list[Scores]:
        scores = function(answer.logits)
        if most == _UNSET:
            best = max(range(len(scores)), key=scores.__getitem__)
            return {"label": self._labels[best], "score": scores[best]}
        ranked = sorted(zip(self._labels, scores), key=lambda each: each[1], reverse=True)
        return [{"label": label, "score": score} for label, score in ranked[:most]]

    def _default_function(self) -> str:
        import json

        with open(os.path.join(self.model.folder, "config.json"), encoding="utf-8") as file:
            problem = json.load(file).get("problem_type")
        if problem == "regression":
            return "none"
        multiple = problem == "multi_label_classification"
        return "sigmoid" if multiple or len(self._labels) == 1 else "softmax"


class FeatureExtractionPipeline(_Pipeline):
    """Gives the vectors of all tokens, as nested lists of [1][tokens][width] a text."""

    def __call__(
        self, inputs: Any, *, truncation: bool | None = None, batch_size: int | None = None
    ) -> Any:
        truncate = self._truncate if truncation is None else truncation is not False

        def answer(texts: list[Text]) -> list[Any]:
            return [[rows.tolist()] for rows in self.model.embed_tokens(texts, truncate=truncate)]

        return self._answer(inputs, batch_size, answer)


_TASKS = {
    "text-classification": "predict",
    "sentiment-analysis": "predict",
    "feature-extraction": "embed",
}


def _device(device: object) -> str:
    if device is None:
        return "auto"
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return str(device)


@overload
def pipeline(
    task: Literal["text-classification", "sentiment-analysis"],
    model: str | os.PathLike[str] | Model,
    *,
    device: object = None,
    dtype: object = None,
    top_k: int | None = _UNSET,
    function_to_apply: str | None = None,
    truncation: bool | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> TextClassificationPipeline: ...
@overload
def pipeline(
    task: Literal["feature-extraction"],
    model: str | os.PathLike[str] | Model,
    *,
    device: object = None,
    dtype: object = None,
    truncation: bool | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> FeatureExtractionPipeline: ...
def pipeline(
    task: str,
    model: str | os.PathLike[str] | Model,
    *,
    device: object = None,
    dtype: object = None,
    truncation: bool | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> TextClassificationPipeline | FeatureExtractionPipeline:
    """Makes a pipeline as transformers.pipeline does.

    task: "text-classification" ("sentiment-analysis") or "feature-extraction".
    model: a folder, a name in the local cache, or a Model.
    device: as of Model, or transformers' numbers: -1 is the processor, 0 the first GPU.
    top_k, function_to_apply, truncation, batch_size: see TextClassificationPipeline.
    Further options are Model's.
    """
    if task not in _TASKS:
        raise ValueError(f"task: expected one of {', '.join(_TASKS)}, got {task!r}")
    own = {name: options.pop(name) for name in ("top_k", "function_to_apply") if name in options}
    if not isinstance(model, Model):
        dtype = options.pop("torch_dtype", dtype)
        use: Any = _TASKS[task]
        model = Model(model, use=use, device=_device(device), dtype=dtype, **options)
    elif options:
        raise TypeError(f"{next(iter(options))}: is of a model that is loaded here")
    if _TASKS[task] == "predict":
        return TextClassificationPipeline(
            model, truncation=truncation, batch_size=batch_size, **own)
    if own:
        raise TypeError(f"{next(iter(own))}: is of text-classification")
    return FeatureExtractionPipeline(model, truncation, batch_size)
