"""What the peers' handlers share: texts to probabilities by a model that takes padded batches.

`slice` bounds a batch: texts are sorted by length and run `slice` at a time, so that little is
computed for padding; 0 runs all that came together as one batch.
"""
import json
import os
import pathlib

import numpy as np
from tokenizers import Tokenizer

SETTINGS = json.loads(os.environ.get("HONE_BENCH_SETTINGS", "{}"))
MODEL = pathlib.Path(os.environ.get("HONE_BENCH_MODEL", "."))
ONNX = pathlib.Path(os.environ.get("HONE_BENCH_ONNX", "."))
MAX_TOKENS = 512


class PaddedClassifier:
    """`run` takes ids and mask, both [texts, longest] of int64, and gives logits."""

    def __init__(self, run):
        self.run = run
        self.slice = SETTINGS.get("slice", 0)
        self.tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def __call__(self, texts):
        encoded = [e.ids for e in self.tokenizer.encode_batch_fast(list(texts))]
        order = range(len(encoded))
        step = self.slice or len(encoded)
        if len(encoded) > step:
            order = sorted(order, key=lambda i: len(encoded[i]))
        logits = np.empty((len(encoded), 2), np.float32)
        for first in range(0, len(encoded), step):
            chosen = list(order[first:first + step])
            width = max(len(encoded[i]) for i in chosen)
            ids = np.zeros((len(chosen), width), np.int64)
            mask = np.zeros((len(chosen), width), np.int64)
            for row, i in enumerate(chosen):
                ids[row, :len(encoded[i])] = encoded[i]
                mask[row, :len(encoded[i])] = 1
            logits[chosen] = self.run(ids, mask)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def onnxruntime_classifier():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = SETTINGS.get("threads", 1)
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(ONNX / "model.opt.onnx"), options,
                                           providers=["CPUExecutionProvider"])
    return PaddedClassifier(lambda ids, mask: session.run(
        ["logits"], {"input_ids": ids, "attention_mask": mask})[0])


def openvino_classifier():
    import openvino
    model = openvino.Core().compile_model(str(ONNX / "model.onnx"), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": SETTINGS.get("threads", 1)})
    request = model.create_infer_request()
    return PaddedClassifier(lambda ids, mask: request.infer(
        {"input_ids": ids, "attention_mask": mask}, share_inputs=True)[0])
