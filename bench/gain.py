#!/usr/bin/env python3
"""Draws bench/results/gain.svg: how many times as fast hone is as its peers, from the result files.

    bench/gain.py            writes the picture
    bench/gain.py --check    exit code 1 where the committed picture is not what the files give
"""
import argparse
import json
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
WIDTH, LABELS, RIGHT, ROW, TOP = 860, 372, 40, 26, 64
GROUP, FONT = 30, "font-family='DejaVu Sans, Verdana, sans-serif'"
INK, PALE, BAR = "#1f2933", "#7b8794", "#2f6f9f"


def read(name):
    return json.loads((RESULTS / name).read_text())


def cpu_ratio(rows, case, peer, peer_case=None):
    """How many times as fast hone is in a case of cpu.json."""
    ms = {(row["peer"], row["case"]): row["median_ms"] for row in rows}
    return ms[peer, peer_case or case] / ms["hone", case]


def gains():
    """Groups of (heading, [(label, times as fast)])."""
    rows = read("cpu.json")["rows"]
    steps = {step["case"]: step["ratio"] for step in read("train.json")["steps"]}
    gpu = {case["case"]: case["expert_ratio"] for case in read("gpu.json")["cases"]}
    return [
        ("2 cores of an AMD EPYC (Zen 4): BERT-base answers", [
            ("one text of 32 tokens, fp32; OpenVINO",
             cpu_ratio(rows, "b1-len32", "openvino-fp32")),
            ("SST-2, batches of 32, fp32; OpenVINO, padded",
             cpu_ratio(rows, "sst2-b32", "openvino-fp32")),
            ("one text of 32 tokens, int8; ONNX Runtime",
             cpu_ratio(rows, "b1-len32-int8", "onnxruntime-int8", "b1-len32")),
            ("SST-2, batches of 32, int8; ONNX Runtime, padded",
             cpu_ratio(rows, "sst2-b32-int8", "onnxruntime-int8", "sst2-b32")),
        ]),
        ("the same cores: training steps", [
            ("BERT-base, 8 x 128 tokens, fp32; PyTorch", steps["bert-base b8 len128 fp32"]),
            ("MiniLM, SST-2 lengths, fp32; PyTorch, padded",
             steps["minilm SST-2 lengths b32 against padded"]),
        ]),
        ("one H200: RoBERTa-base, bf16; the fastest PyTorch we could write", [
            ("training, batch 32, SST-2 lengths", gpu["train b32, SST-2 lengths"]),
            ("training, batch 32, 128 tokens", gpu["train b32, len 128"]),
            ("one text of 32 tokens, host to host", gpu["infer b1, len 32, host to host"]),
            ("batch 128, SST-2 lengths", gpu["infer b128, SST-2 lengths"]),
        ]),
    ]


def text(x, y, words, size=13, anchor="start", fill=INK, weight="normal"):
    return (f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' fill='{fill}' "
            f"font-weight='{weight}' {FONT}>{words}</text>")


def draw(groups):
    most = max(ratio for _, rows in groups for _, ratio in rows)
    scale = (WIDTH - LABELS - RIGHT - 50) / most
    height = TOP + sum(GROUP + ROW * len(rows) for _, rows in groups) + 24
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
           f"viewBox='0 0 {WIDTH} {height}'>",
           f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
           text(16, 26, "Times as fast as the peer beside it", 17, weight="bold"),
           text(16, 46, "longer is better; 1 is the peer's own speed (dashed)", 12, fill=PALE)]
    y = TOP
    for heading, rows in groups:
        out.append(text(16, y + 18, heading, 13, weight="bold"))
        y += GROUP
        begin = y
        for label, ratio in rows:
            out.append(text(LABELS - 10, y + 15, label, 12, "end"))
            out.append(f"<rect x='{LABELS}' y='{y + 3}' width='{ratio * scale:.1f}' height='16' "
                       f"rx='2' fill='{BAR}'/>")
            out.append(text(LABELS + ratio * scale + 6, y + 16, f"{ratio:.2f}", 12))
            y += ROW
        one = LABELS + scale
        out.append(f"<line x1='{one:.1f}' x2='{one:.1f}' y1='{begin}' y2='{y - 4}' "
                   f"stroke='white' stroke-width='1.5' stroke-dasharray='4 3'/>")
    out.append(text(16, y + 14, "from bench/results/cpu.json, train.json and gpu.json by "
                                "bench/gain.py", 11, fill=PALE))
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    picture = draw(gains())
    path = RESULTS / "gain.svg"
    if not parser.parse_args().check:
        path.write_text(picture)
        return 0
    if path.is_file() and path.read_text() == picture:
        return 0
    print("bench/results/gain.svg: not what the result files give; run bench/gain.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
