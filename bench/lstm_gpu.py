#!/usr/bin/env python3
"""Times the reference LSTM in hone and PyTorch on one GPU, in turns; writes bench/results/lstm-gpu.md.

    bench/lstm_gpu.py [--hone build-cuda/hone] [--output DIR]

hone's answers are first compared with PyTorch's, from one folder of weights. PyTorch is cuDNN with
the whole step in a CUDA graph (SGD with momentum, fused), with TF32 and without; hone trains in
fp32, bf16 and fp16 through `hone bench`, before and behind it. Texts have 100 words, batches 128.
Exit code 1 where a bar is missed.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/parity"))
from lstm_module import Lstm  # noqa: E402

BATCH, LENGTH = 128, 100
BARS = {"train": 2.0, "infer": 1.5}


def timed(body, count=50, warm=5):
    for _ in range(warm):
        body()
    torch.cuda.synchronize()
    times = []
    for _ in range(count):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        body()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def graphed(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def torch_ms(tf32):
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.manual_seed(0)
    module = Lstm(last="padded_row").cuda().train()
    optimizer = torch.optim.SGD(module.parameters(), lr=.1, momentum=.9, fused=True)
    ids = torch.randint(1, 10002, (BATCH, LENGTH), device="cuda")
    labels = torch.rand(BATCH, 1, device="cuda").round()
    weight = torch.tensor(.2, device="cuda")

    def step():
        loss = F.binary_cross_entropy_with_logits(module(ids, None), labels, pos_weight=weight)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    train = timed(graphed(step))
    module.eval()
    with torch.inference_mode():
        for _ in range(3):
            module(ids, None)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            module(ids, None)
        infer = timed(graph.replay)
    return {"train": train, "infer": infer}


def hone_ms(hone, case, dtype):
    out = subprocess.run([hone, "bench", case, "--json", "--device", "cuda", "--seconds", "1",
                          *(["--dtype", dtype] if dtype != "fp32" else [])],
                         capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"{case} {dtype}: {out.stderr.strip()}")
    return json.loads(out.stdout.splitlines()[-1])["median_ms"]


def check(hone):
    """Logits of one folder in hone and PyTorch, for texts of all lengths."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    words = [chr(97 + i // 26 % 26) + chr(97 + i % 26) + "q" for i in range(500)]
    module = Lstm(vocab_size=len(words) + 2)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        torch.save(module.state_dict(), folder / "pytorch_model.bin")
        (folder / "vocabulary.txt").write_text("".join(w + "\n" for w in words))
        (folder / "config.json").write_text(json.dumps(
            {"model_type": "lstm", "vocab_size": len(words) + 2, "last": "text",
             "id2label": {"0": "no", "1": "yes"}}))
        lengths = torch.randint(1, LENGTH + 1, (200,))
        ids = torch.randint(2, len(words) + 2, (200, LENGTH))
        ids[torch.arange(LENGTH)[None] >= lengths[:, None]] = 0
        texts = "".join(" ".join(words[i - 2] for i in row[:n]) + "\n"
                        for row, n in zip(ids.tolist(), lengths.tolist()))
        wanted = module.eval()(ids, lengths).squeeze(1).tolist()
        for dtype, near in (("fp32", 2e-5), ("bf16", 3e-2)):
            out = subprocess.run([hone, "predict", "--model", folder, "--raw", "--device", "cuda",
                                  "--dtype", dtype], input=texts, capture_output=True, text=True)
            if out.returncode != 0:
                raise SystemExit(f"predict {dtype}: {out.stderr.strip()}")
            got = [json.loads(line)["logits"][1] for line in out.stdout.splitlines()]
            worst = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
            print(json.dumps({"check": dtype, "worst": worst, "at_most": near}), flush=True)
            if not worst <= near:
                raise SystemExit(f"{dtype}: logits differ from PyTorch's by {worst}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build-cuda/hone"))
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    options = parser.parse_args()
    check(options.hone)
    cases = [("train", "fp32"), ("train", "bf16"), ("train", "fp16"), ("infer", "fp32"),
             ("infer", "bf16")]
    name = {"train": "train-lstm-b128-len100", "infer": "lstm-b128-len100"}
    own = {case: [] for case in cases}
    for case in cases:
        own[case].append(hone_ms(options.hone, name[case[0]], case[1]))
    peers = {"TF32": torch_ms(True), "without TF32": torch_ms(False)}
    for case in cases:
        own[case].append(hone_ms(options.hone, name[case[0]], case[1]))
    lines = ["# The reference LSTM on a GPU", "",
             f"{torch.cuda.get_device_name()}, torch {torch.__version__}, batches of {BATCH} texts of "
             f"{LENGTH} words; ms a step or a batch. Method: bench/lstm_gpu.py.", "",
             "| | hone | PyTorch in a graph, TF32 | ratio | without TF32 | at least |",
             "|---|---|---|---|---|---|"]
    missed = False
    for (kind, dtype), times in own.items():
        ms = statistics.median(times)
        ratio = peers["TF32"][kind] / ms
        row = {"case": kind, "dtype": dtype, "hone_ms": ms, "tf32_ms": peers["TF32"][kind],
               "fp32_ms": peers["without TF32"][kind], "ratio": ratio, "at_least": BARS[kind]}
        print(json.dumps(row), flush=True)
        lines.append(f"| {kind} {dtype} | {ms:.3f} | {row['tf32_ms']:.3f} | {ratio:.2f} | "
                     f"{row['fp32_ms']:.3f} | {BARS[kind]} |")
        missed |= dtype == "fp32" and ratio < BARS[kind]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "lstm-gpu.md").write_text("\n".join(lines) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
