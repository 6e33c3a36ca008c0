"""What a user's typed code looks like; mypy --strict reads it, nothing runs it."""
import pathlib

import numpy as np
from numpy.typing import NDArray

import hone


def labels(folder: pathlib.Path) -> list[str]:
    model = hone.Model(folder, dtype="int8", memory_budget="64MB", threads=2)
    one: hone.Prediction = model.predict("a great film")
    many: list[hone.Prediction] = model.predict([("a", "b"), "c"])
    score: float = one.scores["positive"]
    print(score, model.tokenize("a").ids[0])
    return [answer.label for answer in many]


def vectors(folder: str) -> NDArray[np.float32]:
    with hone.Model(folder, use="embed", pooling="cls") as model:
        return model.embed(["a", "b"])


def images(folder: str, pixels: NDArray[np.uint8]) -> tuple[int, NDArray[np.float32]]:
    model = hone.Model(folder)
    one: hone.Prediction = model.predict_images(pathlib.Path("a.jpg"))
    many: list[hone.Prediction] = model.predict_images(["a.png", pixels])
    return one.width + many[0].height, model.embed_images(pixels)


def reasons(folder: str) -> list[str]:
    model = hone.Model(folder)
    one: hone.Explanation = model.explain("a great film")
    many: list[hone.Explanation] = model.explain(["a", "b"], reasons="gradients", steps=20)
    share: float = one.phrases[0].share
    local: float = one.shares.phrases if one.shares else 0.0
    print(share, local, one.concepts[0].labels["positive"])
    return [phrase.text for each in many for phrase in each.phrases]


class Stop(hone.TrainerCallback):
    def on_step_end(
        self, args: object, state: hone.TrainerState, control: hone.TrainerControl, **kwargs: object
    ) -> hone.TrainerControl | None:
        control.should_training_stop = state.loss < 0.1
        return control


def run() -> float:
    try:
        summary = hone.train(model="DIR", train_file=pathlib.Path("a.csv"), learning_rate=2e-5,
                             bf16=True, callbacks=[Stop()])
    except hone.Error as error:
        print(error.kind)
        raise
    classify = hone.pipeline("text-classification", model=summary.output_dir, top_k=None)
    print(classify("a"))
    return summary.metrics["eval_accuracy"]
