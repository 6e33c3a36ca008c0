"""Errors are exceptions with the program's line, in Python's spelling."""
import pickle

import pytest

import hone
from folders import CLASSIFIER, SENTENCES, changed_config


@pytest.mark.parametrize("options, line", [
    ({"dtype": "fp7"}, "dtype: expected fp32, bf16, int8 or fp8, got 'fp7'"),
    ({"threads": -1}, "threads: expected a number of at least 0, got -1"),
    ({"use": "paint"}, "use: expected one of auto, predict, embed, got 'paint'"),
    ({"pooling": "sum"}, "pooling: expected one of auto, mean, cls, max, got 'sum'"),
    ({"memory_budget": "much"}, "memory_budget: expected a size such as 5GB or 200MB, got 'much'"),
    ({"memory_budget": -1}, "memory_budget: expected a size such as 5GB or 200MB, got '-1'"),
    ({"patience": 2}, "patience"),
    ({"device": "tpu"}, "device: "),
])
def test_a_wrong_argument_is_a_value_error_that_names_it(options, line):
    with pytest.raises(hone.Error) as caught:
        hone.Model(CLASSIFIER, **{"device": "cpu", **options})
    assert isinstance(caught.value, (ValueError, NotImplementedError))
    assert caught.value.kind in ("usage", "unsupported")
    assert line in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_a_file_not_found_error(tmp_path):
    for model in (tmp_path / "none", "no-such-model"):
        with pytest.raises(FileNotFoundError, match="model: ") as caught:
            hone.Model(model, device="cpu")
        assert isinstance(caught.value, hone.Error)


def test_a_file_that_is_wrong_is_a_value_error(tmp_path):
    folder = changed_config(CLASSIFIER, tmp_path / "bad", hidden_size="wide")
    with pytest.raises(ValueError, match="config.json") as caught:
        hone.Model(folder, device="cpu")
    assert isinstance(caught.value, hone.Error) and caught.value.kind == "bad_file"


def test_a_model_does_what_it_was_loaded_for():
    with pytest.raises(hone.Error, match="was loaded to predict; to embed, load it with use='embed'"):
        hone.Model(CLASSIFIER, device="cpu").embed("the film")
    with pytest.raises(hone.Error, match="was loaded to embed; to predict, load it with use='predict'"):
        hone.Model(SENTENCES, device="cpu").predict("the film")
    assert hone.Model(CLASSIFIER, device="cpu", use="embed").embed("the film").ndim == 1


def test_errors_can_be_sent_to_another_process():
    with pytest.raises(hone.Error) as caught:
        hone.Model(CLASSIFIER, device="cpu", dtype="fp7")
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent), sent.kind) == (type(caught.value), str(caught.value), "usage")


@pytest.mark.parametrize("arguments, line", [
    ({"learning_rate": "fast"}, "learning_rate: expected a number from 0 to 1000, got 'fast'"),
    ({"learning_rte": 1}, "train: unknown argument 'learning_rte'; did you mean learning_rate?"),
    ({"no_cuda": True}, "train: 'no_cuda': use device cpu"),
    ({"nproc_per_node": 2}, "training by several processes is the program's: hone train"),
    ({"max_steps": 0}, "max_steps: expected -1 (by epochs) or at least 1, got '0'"),
    ({"save_strategy": "steps", "load_best_model_at_end": True},
     "save_strategy: expected that of eval_strategy; load_best_model_at_end takes the best of the "
     "models that were saved"),
    ({"fp16": True, "bf16": True}, "fp16: expected one of bf16 and fp16"),
])
def test_training_names_arguments_not_flags(own_data, arguments, line):
    with pytest.raises(ValueError) as caught:
        hone.train(**{**own_data, **arguments})
    assert isinstance(caught.value, hone.Error) and line in str(caught.value)


def test_training_without_its_files_is_a_file_not_found_error(own_data, tmp_path):
    for name in ("train_file", "model"):
        with pytest.raises(FileNotFoundError) as caught:
            hone.train(**{**own_data, name: tmp_path / "none"})
        assert isinstance(caught.value, hone.Error)
    with pytest.raises(TypeError, match="unexpected keyword argument 'json'"):
        hone.train(**own_data, json=True)
