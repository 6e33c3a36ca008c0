"""One peer in its own process: loads BERT-base and times cases that come as JSON lines.

Started by peers.py. The first line out says that it is ready or why it cannot be; after that one
line a request, {"case", "reps"} in and {"times_ms"} out. All peers have the same weights, and a
peer that does not give the recorded logits is not timed.
"""
import json
import os
import pathlib
import sys
import time

CACHE = pathlib.Path(os.environ.get("HONE_CACHE", pathlib.Path(__file__).parents[1] / ".cache"))
FOLDER = CACHE / "peers"
THREADS = int(os.environ.get("THREADS", len(os.sched_getaffinity(0))))
TOLERANCE = {"fp32": 1e-3, "bf16": 1e-1, "int8": 2e-1}


def torch_model(attention):
    import torch
    import transformers
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    config = transformers.BertConfig(num_labels=2)
    return transformers.BertForSequenceClassification._from_config(
        config, attn_implementation=attention).eval()


def torch_runner(compiled, dtype):
    """Eager, or compiled: statically for single inputs, with dynamic shapes for data sets."""
    import torch
    model = torch_model("sdpa").to(torch.bfloat16 if dtype == "bf16" else torch.float32)

    def load(masked):
        call = torch.compile(model, dynamic=masked) if compiled else model

        def run(ids, mask):
            with torch.inference_mode():
                more = {"attention_mask": torch.from_numpy(mask)} if masked else {}
                return call(input_ids=torch.from_numpy(ids), **more).logits.float().numpy()
        return run
    return load, f"torch {torch.__version__}"


def onnxruntime_runner(model):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)

    def load(_):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        session = onnxruntime.InferenceSession(str(FOLDER / model), options,
                                               providers=["CPUExecutionProvider"])
        return lambda ids, mask: session.run(None, feed(ids, mask))[0]
    return load, f"onnxruntime {onnxruntime.__version__}"


def openvino_runner(dtype):
    import openvino
    core = openvino.Core()

    def load(_):
        compiled = core.compile_model(core.read_model(FOLDER / "bert.onnx"), "CPU", {
            "INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if dtype == "bf16" else "f32"})
        request = compiled.create_infer_request()
        return lambda ids, mask: request.infer(feed(ids, mask))[0].copy()
    return load, f"openvino {openvino.__version__.split('-')[0]}"


def feed(ids, mask):
    return {"input_ids": ids, "attention_mask": mask}


RUNNERS = {
    "onnxruntime-fp32": lambda: onnxruntime_runner("bert.opt.onnx"),
    "onnxruntime-int8": lambda: onnxruntime_runner("bert.int8.onnx"),
    "openvino-fp32": lambda: openvino_runner("fp32"),
    "torch-compile-fp32": lambda: torch_runner(True, "fp32"),
    "torch-fp32": lambda: torch_runner(False, "fp32"),
    "openvino-bf16": lambda: openvino_runner("bf16"),
    "torch-bf16": lambda: torch_runner(False, "bf16"),
}


def batches_of(case):
    """The (ids, mask) arrays of one pass over a case."""
    import numpy as np
    if case in ("b1-len32", "b1-len128"):
        length = int(case.rsplit("len", 1)[1])
        ids = np.random.RandomState(length).randint(5, 30000, (1, length)).astype(np.int64)
        return [(ids, np.ones_like(ids))]
    sequences = json.loads((FOLDER / "sst2.json").read_text())
    if case == "sst2-b32-sorted":
        sequences.sort(key=len)
    made = []
    for at in range(0, len(sequences), 32):
        part = sequences[at:at + 32]
        ids = np.zeros((len(part), max(map(len, part))), np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(part):
            ids[row, :len(sequence)] = sequence
            mask[row, :len(sequence)] = 1
        made.append((ids, mask))
    return made


def check(run, masked, dtype):
    """The recorded input's logits; with a mask also padded, which must change nothing."""
    import numpy as np
    expected = json.loads((FOLDER / "expected.json").read_text())
    ids = np.array([expected["ids"]], np.int64)
    mask = np.ones_like(ids)
    if masked:
        ids, mask = np.pad(ids, ((0, 0), (0, 5))), np.pad(mask, ((0, 0), (0, 5)))
    off = np.abs(run(ids, mask)[0] - np.array(expected["logits"])).max()
    if not off <= TOLERANCE[dtype]:
        raise ValueError(f"logits are {off:.1e} from the recorded ones")


def time_case(loaded, load, request, dtype):
    """Milliseconds of each pass; the first request of a case warms every shape twice."""
    case = request["case"]
    masked = case.startswith("sst2")
    if masked not in loaded:
        loaded[masked] = load(masked)
        check(loaded[masked], masked, dtype)
    run = loaded[masked]
    batches = batches_of(case)
    if case not in loaded:
        shapes = {ids.shape: (ids, mask) for ids, mask in batches}
        for _ in range(2):
            for ids, mask in shapes.values():
                run(ids, mask)
        loaded[case] = True
    times = []
    for _ in range(request["reps"]):
        start = time.perf_counter()
        for ids, mask in batches:
            run(ids, mask)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to the log

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    peer = sys.argv[1]
    dtype = peer.rsplit("-", 1)[1]
    try:
        load, version = RUNNERS[peer]()
    except ImportError as error:
        return answer(error=f"not installed: {error}")
    answer(version=version)
    loaded = {}
    for line in sys.stdin:
        try:
            answer(times_ms=time_case(loaded, load, json.loads(line), dtype))
        except Exception as error:  # a peer's failure is a row of the table, not ours
            answer(error=f"{type(error).__name__}: {str(error).splitlines()[0][:200]}")
    return None


if __name__ == "__main__":
    main()
