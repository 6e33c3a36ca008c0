"""A model that answers."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from . import _native
from ._explain import Explanation, explanation
from ._inputs import Text, is_one, is_one_image, split, split_images
from ._plugins import point_to_cuda

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._inputs import Image

# PyTorch's names of what hone has other names for.
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


class Prediction(NamedTuple):
    """What a classifier says of a text."""

    label: str
    """The best class; the one label's name for regression."""
    score: float
    """Its probability; the value itself for regression."""
    scores: dict[str, float]
    """By class, in the order of Model.labels."""
    logits: list[float]
    labels: list[str]
    """All classes of at least 0.5, for a multi-label model."""
    tokens: int
    """Tokens that the model read; of an image, pixels."""
    truncated: bool
    """Whether the text had more tokens."""
    layers: int
    """Layers that the answer took in a model with early exits; else 0."""
    width: int
    """Width of an image as it was given, as `height`; else 0."""
    height: int


class Tokens(NamedTuple):
    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    """Characters of the text that each token comes from: begin, end."""
    type_ids: list[int]


class Model:
    """A model and its tokenizer, ready to answer.

    Any number of threads may call it: what they ask for at one time is computed together, and none
    holds the interpreter's lock meanwhile. Wherever texts are asked for, one is a str, a pair is a
    tuple of two, and many are a list or another iterable of those.

    model: a Hugging Face or sentence-transformers folder, or a name in the local cache.
    use: "predict", "embed", or "auto": predict where the folder has a classification head.
    device: "cpu", "cuda", "cuda:1", or "auto": a GPU where there is one that can run the model.
    dtype: "fp32", "bf16", "int8", "fp8" on a GPU; None: int8 where the folder is stored so, else fp32.
    threads: None: the cores that the process may use.
    max_length: tokens of a text, special ones included; None: what the folder says.
    memory_budget: the most bytes that the process may have resident, as a number or as "64MB".
    tuning: a file with a GPU's fastest products, found once and kept.
    pooling: "mean", "cls", "max", or "auto": what a sentence-transformers folder says, else mean.
    normalize: whether vectors are scaled to length 1; None: what the folder says, else not.
    exits, patience, entropy, deadline: when a text leaves a model with early exits before its last
        layer; see `hone predict --help`. The deadline is in seconds.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        use: Literal["auto", "predict", "embed"] = "auto",
        device: str = "auto",
        dtype: object = None,
        threads: int | None = None,
        max_length: int | None = None,
        memory_budget: int | str | None = None,
        tuning: str | os.PathLike[str] | None = None,
        pooling: Literal["auto", "mean", "cls", "max"] = "auto",
        normalize: bool | None = None,
        exits: bool = True,
        patience: int | None = None,
        entropy: float | None = None,
        deadline: float = 0.0,
    ) -> None:
        if device != "cpu":
            point_to_cuda()
        name = "" if dtype is None else str(dtype).removeprefix("torch.")
        self._native = _native.Model(
            os.fspath(model),
            use=use,
            device=device,
            dtype=_DTYPES.get(name, name),
            threads=threads or 0,
            max_length=max_length or 0,
            memory_budget=_bytes(memory_budget),
            tuning="" if tuning is None else os.fspath(tuning),
            pooling=pooling,
            normalize=normalize,
            exits=exits,
            patience=patience,
            entropy=entropy,
            deadline=deadline,
        )
        self._explaining: dict[str, Any] = {
            "dtype": "bf16" if _DTYPES.get(name, name) == "bf16" else "fp32",
            "threads": threads or 0,
            "max_length": max_length or 0,
        }
        self._explainer: _native.Explainer | None = None
        self._explainer_lock = threading.Lock()

    @overload
    def predict(  # type: ignore[overload-overlap]  # a str is also an iterable of them
        self, texts: Text, *, truncate: bool = True
    ) -> Prediction: ...
    @overload
    def predict(self, texts: Iterable[Text], *, truncate: bool = True) -> list[Prediction]: ...
    def predict(
        self, texts: Text | Iterable[Text], *, truncate: bool = True
    ) -> Prediction | list[Prediction]:
        """Labels a text, or many. Where `truncate` is false, a text that is too long is an error."""
        if is_one(texts):
            return self.predict([texts], truncate=truncate)[0]  # type: ignore[list-item]
        answers = self._native.predict(*split(texts), truncate)
        return list(map(Prediction._make, answers))

    def embed(
        self, texts: Text | Iterable[Text], *, truncate: bool = True
    ) -> NDArray[np.float32]:
        """Gives the vector of a text, or a row for each of many. Nothing is copied: the array owns
        what the model wrote."""
        if is_one(texts):
            return self.embed([texts], truncate=truncate)[0]  # type: ignore[list-item, no-any-return]
        return self._native.embed(*split(texts), truncate)

    @overload
    def embed_tokens(  # type: ignore[overload-overlap]
        self, texts: Text, *, truncate: bool = True
    ) -> NDArray[np.float32]: ...
    @overload
    def embed_tokens(
        self, texts: Iterable[Text], *, truncate: bool = True
    ) -> list[NDArray[np.float32]]: ...
    def embed_tokens(
        self, texts: Text | Iterable[Text], *, truncate: bool = True
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Gives the vectors of all tokens of a text, or of each of many."""
        if is_one(texts):
            return self.embed_tokens([texts], truncate=truncate)[0]  # type: ignore[list-item]
        return self._native.embed_tokens(*split(texts), truncate)

    @overload
    def predict_images(self, images: Image) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def predict_images(self, images: Iterable[Image]) -> list[Prediction]: ...
    def predict_images(self, images: Image | Iterable[Image]) -> Prediction | list[Prediction]:
        """Labels an image, or many: paths of JPEG, PNG or WebP files, or arrays of uint8 of
        [height, width, 3]."""
        if is_one_image(images):
            return self.predict_images([images])[0]  # type: ignore[list-item]
        answers = self._native.predict_images(split_images(images))  # type: ignore[arg-type]
        return list(map(Prediction._make, answers))

    def embed_images(self, images: Image | Iterable[Image]) -> NDArray[np.float32]:
        """Gives the vector of an image, or a row for each of many."""
        if is_one_image(images):
            return self.embed_images([images])[0]  # type: ignore[list-item, no-any-return]
        return self._native.embed_images(split_images(images))  # type: ignore[arg-type]

    @overload
    def explain(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        reasons: Literal["auto", "own", "gradients"] = "auto",
        steps: int = 50,
        ablate: int = 0,
        concepts: int | None = None,
    ) -> Explanation: ...
    @overload
    def explain(
        self,
        texts: Iterable[str],
        *,
        reasons: Literal["auto", "own", "gradients"] = "auto",
        steps: int = 50,
        ablate: int = 0,
        concepts: int | None = None,
    ) -> list[Explanation]: ...
    def explain(
        self,
        texts: str | Iterable[str],
        *,
        reasons: Literal["auto", "own", "gradients"] = "auto",
        steps: int = 50,
        ablate: int = 0,
        concepts: int | None = None,
    ) -> Explanation | list[Explanation]:
        """Says which parts of a text, or of each of many, gave its label. The first call loads the
        model once more, on the processor.

        reasons: "own" for those of a model that was trained to explain itself, "gradients" for
            integrated gradients, which explain any classifier, or "auto": own where there are some.
        steps: points of the gradients' path.
        ablate: own: phrases without which a text is answered again.
        concepts: own: the most concepts of a text; None: all that were looked up.
        """
        given = [texts] if isinstance(texts, str) else list(texts)
        for text in given:
            if not isinstance(text, str):
                raise TypeError(f"texts: expected a str, got {text!r:.80}")
        found = self._opened_explainer().explain(
            given,
            reasons=reasons,
            steps=steps,
            ablate=ablate,
            concepts=-1 if concepts is None else concepts,
        )
        explanations = list(map(explanation, found))
        return explanations[0] if isinstance(texts, str) else explanations

    def _opened_explainer(self) -> _native.Explainer:
        folder = self.folder  # an error where the model was closed
        with self._explainer_lock:
            if self._explainer is None:
                self._explainer = _native.Explainer(folder, **self._explaining)
            return self._explainer

    @overload
    def tokenize(self, texts: Text) -> Tokens: ...  # type: ignore[overload-overlap]
    @overload
    def tokenize(self, texts: Iterable[Text]) -> list[Tokens]: ...
    def tokenize(self, texts: Text | Iterable[Text]) -> Tokens | list[Tokens]:
        """Gives the tokens of a text, or of each of many, of which nothing is cut."""
        if is_one(texts):
            return self.tokenize([texts])[0]  # type: ignore[list-item]
        firsts, seconds = split(texts)
        pairs = seconds or [None] * len(firsts)
        return [Tokens._make(self._native.tokenize(*pair)) for pair in zip(firsts, pairs)]

    @property
    def labels(self) -> list[str]:
        """The names of the classes."""
        return self._native.labels

    @property
    def folder(self) -> str:
        """The folder that was loaded."""
        return self._native.folder

    @property
    def use(self) -> Literal["predict", "embed"]:
        """What the model was loaded for."""
        return "predict" if self._native.predicts else "embed"

    @property
    def max_length(self) -> int:
        """The most tokens of a text; longer ones are cut."""
        return self._native.max_length

    @property
    def width(self) -> int:
        """The numbers of an answer: classes, or those of a vector."""
        return self._native.width

    def close(self) -> None:
        """Ends the model's threads and frees its memory, which the end of the object also does."""
        self._native.close()
        with self._explainer_lock:
            self._explainer = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bytes(budget: int | str | None) -> int:
    return 0 if budget in (None, 0) else _native.parse_bytes("memory_budget", str(budget))
