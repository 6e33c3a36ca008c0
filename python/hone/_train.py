"""Training, with Trainer's arguments and callbacks."""
from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import Error, in_arguments, made
from ._plugins import point_to_cuda

if TYPE_CHECKING:
    from typing import Unpack

    from ._train_arguments import TrainArguments

# Options of the program that say what it prints.
_OF_THE_PROGRAM = ("help", "help_all", "version", "json")


class TrainSummary(dict[str, Any]):
    """What came of a run: the fields of all_results.json. Of several seeds: mean, standard deviation
    and values of each result."""

    runs: list[TrainSummary]
    """The summaries of the runs, one a seed."""

    @property
    def output_dir(self) -> str:
        return str(self.runs[0]["output_dir"])

    @property
    def global_step(self) -> int:
        return int(self.runs[0]["train_steps"])

    @property
    def training_loss(self) -> float:
        return float(self.runs[0]["train_loss"])

    @property
    def metrics(self) -> dict[str, float]:
        """The results of the evaluation, with "eval_" in front, and of the training."""
        return {name: value for name, value in self.runs[0].items()
                if name.startswith(("eval_", "train_")) or name == "epoch"}


class TrainerControl:
    """What a callback can ask for."""

    __slots__ = ("should_training_stop",)

    def __init__(self) -> None:
        self.should_training_stop = False
        """True: training ends behind this step, and the model is evaluated and written."""


class TrainerState:
    """How far a run has come."""

    def __init__(self) -> None:
        self.global_step = 0
        self.max_steps = 0
        self.epoch = 0.0
        self.loss = 0.0
        """The loss of the last step."""
        self.learning_rate = 0.0
        self.log_history: list[dict[str, float]] = []
        self.last_checkpoint: str | None = None
        """The last checkpoint that is complete."""


class TrainerCallback:
    """Hears of a run; has the names and arguments of transformers' class of that name. A callback
    may be of any class: what it does not have is not called. A method may return the control."""

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl,
                       **kwargs: Any) -> TrainerControl | None:
        return None

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl,
                    **kwargs: Any) -> TrainerControl | None:
        return None

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl,
               **kwargs: Any) -> TrainerControl | None:
        """`logs` has the numbers."""
        return None

    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl,
                    **kwargs: Any) -> TrainerControl | None:
        """`metrics` has the results."""
        return None

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl,
                **kwargs: Any) -> TrainerControl | None:
        """A checkpoint is complete: state.last_checkpoint. Steps went on while it was written."""
        return None

    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl,
                     **kwargs: Any) -> TrainerControl | None:
        return None


class _Listener:
    """Hears of a run from the extension module, and tells the callbacks."""

    def __init__(self, args: SimpleNamespace, callbacks: Sequence[object]) -> None:
        self._args = args
        self._callbacks = callbacks
        self.state = TrainerState()
        self.control = TrainerControl()

    @property
    def should_stop(self) -> bool:
        return self.control.should_training_stop

    def step(self, step: int, steps: int, epoch: float, loss: float, rate: float) -> None:
        state = self.state
        state.global_step, state.max_steps, state.epoch = step, steps, epoch
        state.loss, state.learning_rate = loss, rate
        self.tell("on_step_end")

    def logged(self, step: int, epoch: float, values: dict[str, float]) -> None:
        self.state.global_step, self.state.epoch = step, epoch
        self.state.log_history.append({**values, "epoch": epoch, "step": step})
        if any(name.startswith("eval_") for name in values):
            self.tell("on_evaluate", metrics=values)
        self.tell("on_log", logs=values)

    def saved(self, folder: str) -> None:
        self.state.last_checkpoint = folder
        self.tell("on_save")

    def tell(self, event: str, **kwargs: Any) -> None:
        for callback in self._callbacks:
            method = getattr(callback, event, None)
            if method is None:
                continue
            returned = method(self._args, self.state, self.control, **kwargs)
            if returned is not None and returned.should_training_stop:
                self.control.should_training_stop = True


def _words(name: str, value: object) -> list[str]:
    """Gives an argument as words of the command line. Files are named one by one."""
    values = value if name == "trees" and isinstance(value, (list, tuple)) else [value]
    return [word for each in values if (word := _word(name, each)) is not None]


def _word(name: str, value: object) -> str | None:
    """Gives an argument as a word of the command line; None: it is not given."""
    if name == "resume_from_checkpoint" and isinstance(value, bool):
        value = "last" if value else None
    if value is None:
        return None
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return f"--{name}={value}"


def train(
    *, callbacks: Iterable[object] = (), **arguments: Unpack[TrainArguments]
) -> TrainSummary:
    """Trains as `hone train` does, with its options as arguments: those of Trainer and run_glue.
    `hone train --help-all` lists them; what is not given has the same default.

    callbacks: objects with methods of TrainerCallback. A run that a callback ends is complete.
    Ctrl-C ends a run behind a checkpoint and raises KeyboardInterrupt: go on from it with
    resume_from_checkpoint="last".
    """
    for name in arguments:
        if name in _OF_THE_PROGRAM:
            raise TypeError(f"train() got an unexpected keyword argument {name!r}")
    words = [word for name, value in arguments.items() for word in _words(name, value)]
    if arguments.get("device") != "cpu":
        point_to_cuda()
    listener = _Listener(SimpleNamespace(**arguments), list(callbacks))
    listener.tell("on_train_begin")
    try:
        results = _native.train(words, listener)
    except Error as error:
        raise made(error.kind, in_arguments(str(error))) from None
    except KeyboardInterrupt as stopped:
        if listener.state.last_checkpoint:
            stopped.add_note(f"hone: interrupted; go on from {listener.state.last_checkpoint}")
        raise
    listener.tell("on_train_end")
    return _summary(results)


def _summary(text: str) -> TrainSummary:
    import json

    results = json.loads(text)
    runs = [TrainSummary(run) for run in results["runs"]]
    for run in runs:
        run.runs = [run]
    summary = TrainSummary(results["seeds"]) if "seeds" in results else runs[0]
    summary.runs = runs
    return summary
