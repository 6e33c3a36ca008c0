"""hone fine-tunes, shrinks and runs encoder classifiers: the folders of Hugging Face, without PyTorch.

    model = hone.Model("DIR")
    model.predict("a great film").label

NumPy is loaded when an array is first asked for.
"""
from ._errors import Error
from ._explain import Concept, Explanation, Phrase, Shares
from ._model import Model, Prediction, Tokens
from ._native import version as __version__
from ._pipeline import FeatureExtractionPipeline, TextClassificationPipeline, pipeline
from ._train import TrainerCallback, TrainerControl, TrainerState, TrainSummary, train

__all__ = [
    "Concept",
    "Error",
    "Explanation",
    "FeatureExtractionPipeline",
    "Model",
    "Phrase",
    "Prediction",
    "Shares",
    "TextClassificationPipeline",
    "Tokens",
    "TrainSummary",
    "TrainerCallback",
    "TrainerControl",
    "TrainerState",
    "__version__",
    "pipeline",
    "train",
]
