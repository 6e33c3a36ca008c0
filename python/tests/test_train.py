"""hone.train: arguments, callbacks, summaries, interrupts."""
import enum
import json
import signal
import subprocess
import sys

import pytest

import hone
from folders import CLASSIFIER


class Recorder(hone.TrainerCallback):
    def __init__(self):
        self.events = []

    def on_train_begin(self, args, state, control, **kwargs):
        self.events.append("train_begin")

    def on_step_end(self, args, state, control, **kwargs):
        self.events.append(f"step_end {state.global_step}/{state.max_steps}")

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.events.append("log " + sorted(logs)[0])

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.events.append("evaluate " + sorted(metrics)[0])

    def on_save(self, args, state, control, **kwargs):
        self.events.append("save " + state.last_checkpoint.rpartition("/")[2])

    def on_train_end(self, args, state, control, **kwargs):
        self.events.append("train_end")


def test_a_run_and_its_summary(own_data):
    summary = hone.train(**own_data, num_train_epochs=2, learning_rate=1e-3)
    out = own_data["output_dir"]
    written = json.loads((out / "all_results.json").read_text())
    for results in (summary, written):
        assert results.pop("seconds")["wall"] > 0  # which goes on between the two
    assert summary == written
    assert summary.global_step == 8 and summary.output_dir == str(out)
    assert summary.training_loss == summary["train_loss"] and summary.runs == [summary]
    assert 0 <= summary.metrics["eval_accuracy"] <= 1
    assert hone.Model(out, device="cpu").predict("the film is great").label in ("0", "1")


def test_it_is_the_programs_run(own_data, tmp_path):
    hone.train(**own_data, num_train_epochs=1, seed=7)
    program = tmp_path / "program"
    words = [f"--{name}={value}" for name, value in own_data.items() if name not in ("quiet", "output_dir")]
    subprocess.run([sys.executable, "-c", "from hone._program import main; main()", "train", *words,
                    "--quiet", "--num_train_epochs=1", "--seed=7", f"--output_dir={program}"],
                   check=True, timeout=120, stdout=subprocess.DEVNULL)
    written = (own_data["output_dir"] / "model.safetensors").read_bytes()
    assert written == (program / "model.safetensors").read_bytes()


def test_callbacks_hear_of_everything(own_data):
    recorder = Recorder()
    hone.train(**own_data, callbacks=[recorder, object()], num_train_epochs=1, logging_steps=2)
    assert recorder.events[0] == "train_begin" and recorder.events[-1] == "train_end"
    assert [e for e in recorder.events if e.startswith("step_end")] == [
        f"step_end {i}/4" for i in (1, 2, 3, 4)]
    assert recorder.events.count("log grad_norm") == 2
    assert recorder.events.count("evaluate eval_accuracy") == 1
    assert "save checkpoint-4" in recorder.events


@pytest.mark.parametrize("returned", [True, False])
def test_a_callback_ends_a_run_which_is_complete_then(own_data, returned):
    class Enough(hone.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            assert args.seed == 3
            if state.global_step < 3:
                return None
            if not returned:
                control.should_training_stop = True
                return None
            own = hone.TrainerControl()
            own.should_training_stop = True
            return own

    summary = hone.train(**own_data, callbacks=[Enough()], seed=3)
    assert summary.global_step == 3 and summary["stopped_early"] and not summary["interrupted"]
    assert (own_data["output_dir"] / "model.safetensors").exists()
    with pytest.raises(AttributeError):
        hone.TrainerControl().should_save = True  # what is not there is not ignored


def test_what_a_callback_raises_ends_the_run(own_data):
    class Broken(hone.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        hone.train(**own_data, callbacks=[Broken()])
    hone.train(**own_data, overwrite_output_dir=True, max_steps=2)  # nothing is locked


def test_values_of_every_kind(own_data):
    class Strategy(enum.Enum):
        NO = "no"

    summary = hone.train(**own_data, max_steps=2, save_strategy=Strategy.NO, bf16=False,
                         class_weights=[1, 2.5], greater_is_better=True, warmup_ratio=None,
                         seeds=[1, 2], resume_from_checkpoint=False, report_to=["none"])
    assert summary["seeds"] == [1, 2] and len(summary.runs) == 2
    assert len(summary["eval_accuracy"]["values"]) == 2
    assert summary.runs[1].output_dir.endswith("seed-2")


INTERRUPTED = """
import sys, hone
class Told(hone.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5:
            print("five", flush=True)
            PLACE
try:
    hone.train(**eval(sys.argv[1]), callbacks=[Told()])
except KeyboardInterrupt as stopped:
    print(stopped.__notes__[0], flush=True)
    sys.exit(7)
"""


@pytest.mark.parametrize("place", ["", "while True: pass"], ids=["between", "in-a-callback"])
def test_ctrl_c_ends_a_run_behind_a_checkpoint(own_data, place):
    out = own_data["output_dir"]
    words = {name: value if isinstance(value, (bool, int)) else str(value) for name, value in own_data.items()}
    words.update(max_steps=1_000_000, save_strategy="no", eval_strategy="no")
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED.replace("PLACE", place), repr(words)],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "five\n"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 7
    checkpoint = rest.strip().removeprefix("hone: interrupted; go on from ")
    step = int(checkpoint.removeprefix(f"{out}/checkpoint-"))
    assert step >= 5
    resumed = Recorder()

    class Enough:
        def on_step_end(self, args, state, control, **kwargs):
            control.should_training_stop = True

    summary = hone.train(**own_data, max_steps=1_000_000, save_strategy="no", eval_strategy="no",
                         resume_from_checkpoint=True, callbacks=[resumed, Enough()])
    assert summary.global_step == step + 1


PREDICTING = f"""
import sys, hone
model = hone.Model({str(CLASSIFIER)!r}, device="cpu", threads=1)
print("begin", flush=True)
try:
    model.predict(["the film is great"] * 3_000_000)
except KeyboardInterrupt:
    print(model.predict("the film").tokens, flush=True)
    sys.exit(7)
"""


def test_ctrl_c_ends_a_prediction():
    process = subprocess.Popen([sys.executable, "-c", PREDICTING], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begin\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)  # it is at work
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, rest) == (7, "4\n")
