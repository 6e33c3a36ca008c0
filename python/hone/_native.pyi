# The extension module, made of python/src.
from typing import Any

import numpy as np
from numpy.typing import NDArray

version: str

class Model:
    def __init__(
        self,
        folder: str,
        *,
        use: str,
        device: str,
        dtype: str,
        threads: int,
        max_length: int,
        memory_budget: int,
        tuning: str,
        pooling: str,
        normalize: bool | None,
        exits: bool,
        patience: int | None,
        entropy: float | None,
        deadline: float,
    ) -> None: ...
    def predict(
        self, texts: list[str], pairs: list[str | None], truncate: bool
    ) -> list[tuple[Any, ...]]: ...
    def embed(
        self, texts: list[str], pairs: list[str | None], truncate: bool
    ) -> NDArray[np.float32]: ...
    def embed_tokens(
        self, texts: list[str], pairs: list[str | None], truncate: bool
    ) -> list[NDArray[np.float32]]: ...
    def predict_images(self, images: list[Any]) -> list[tuple[Any, ...]]: ...
    def embed_images(self, images: list[Any]) -> NDArray[np.float32]: ...
    def tokenize(self, text: str, pair: str | None) -> tuple[Any, ...]: ...
    def close(self) -> None: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def folder(self) -> str: ...
    @property
    def predicts(self) -> bool: ...
    @property
    def max_length(self) -> int: ...
    @property
    def width(self) -> int: ...

class Explainer:
    def __init__(self, folder: str, *, dtype: str, threads: int, max_length: int) -> None: ...
    def explain(
        self, texts: list[str], *, reasons: str, steps: int, ablate: int, concepts: int
    ) -> list[tuple[Any, ...]]: ...

def train(words: list[str], listener: object) -> str: ...
def parse_bytes(field: str, given: str) -> int: ...
