"""Triton's Python backend: the model.py of its repository. One text a row, probabilities out."""
import os
import sys

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.environ["HONE_BENCH_SERVING"])
from padded_classifier import onnxruntime_classifier  # noqa: E402


class TritonPythonModel:
    def initialize(self, args):
        self.classify = onnxruntime_classifier()
        self.classify(["warm"])

    def execute(self, requests):
        """All requests that the dynamic batcher brought together, in one batch."""
        texts, counts = [], []
        for request in requests:
            rows = pb_utils.get_input_tensor_by_name(request, "text").as_numpy().reshape(-1)
            texts += [row.decode() for row in rows]
            counts.append(len(rows))
        scores = self.classify(texts)
        responses, at = [], 0
        for count in counts:
            tensor = pb_utils.Tensor("scores", np.ascontiguousarray(scores[at:at + count]))
            responses.append(pb_utils.InferenceResponse([tensor]))
            at += count
        return responses
