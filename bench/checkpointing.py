#!/usr/bin/env python3
"""The memory of activations by depth and by segments of activation checkpointing.

    bench/checkpointing.py [--hone FILE]    writes bench/results/checkpointing.md, .json and .svg

One training step of BERT encoders of 6 to 48 layers (hidden size 128, 32 texts of 128 tokens, fp32)
with `hone train`, whose results name the bytes that the step's activations take. The figures are
those of the step's memory plan, so that they are the same on every machine of one instruction set.
"""
import argparse
import json
import math
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
TOKENIZER = ROOT / "tests/models/goldens/bert-words"
DEPTHS = [6, 12, 24, 48]
DEEP = 48
SEGMENTS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 48]
TEXTS, TOKENS = 32, 128
SERIES = [("plain", "nothing is computed twice", "#b4483c"),
          ("root", "√n segments", "#c28a2b"),
          ("layers", "every layer a segment", "#2f6f9f")]
FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"


def activations(hone, folder, layers, segments):
    """Bytes of one step; no segments: no checkpointing."""
    config = json.loads((ROOT / "bench/bert12.json").read_text())
    config.update(num_hidden_layers=layers, vocab_size=1000)
    (folder / "config.json").write_text(json.dumps(config))
    command = [hone, "train", "--config_name", folder / "config.json", "--tokenizer_name", TOKENIZER,
               "--train_file", folder / "texts.csv", "--validation_file", folder / "texts.csv",
               "--do_train", "--max_steps", "1", "--per_device_train_batch_size", str(TEXTS),
               "--max_seq_length", str(TOKENS), "--eval_strategy", "no", "--save_strategy", "no",
               "--output_dir", folder / "out", "--overwrite_output_dir", "--device", "cpu",
               "--json", "--quiet"]
    if segments:
        command += ["--gradient_checkpointing", "--checkpoint_segments", str(segments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["memory_bytes"]["activations"]


def measure(hone):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = "".join(f"{'ab'[i % 2]},{'film ' * (TOKENS - 2)}\n" for i in range(TEXTS))
        (folder / "texts.csv").write_text("label,text\n" + rows)
        depths = [{"layers": n, "plain": activations(hone, folder, n, 0),
                   "root": activations(hone, folder, n, round(math.sqrt(n))),
                   "layers_each": activations(hone, folder, n, n)} for n in DEPTHS]
        deep = [{"segments": c, "bytes": activations(hone, folder, DEEP, c)} for c in SEGMENTS]
    return {"texts": TEXTS, "tokens": TOKENS, "hidden_size": 128, "dtype": "fp32",
            "by_depth": depths, "layers": DEEP, "by_segments": deep}


def mb(count):
    return f"{count / 1e6:.1f}"


def page(result):
    out = ["# Memory of activations with activation checkpointing", "",
           "One training step of BERT encoders, hidden size 128, 32 texts of 128 tokens, fp32, as "
           "planned by `hone train` on a processor. Made by `bench/checkpointing.py`; the picture is "
           "`checkpointing.svg`.", "",
           "| layers n | plain | round(√n) segments | every layer a segment | last to first |",
           "|--:|--:|--:|--:|--:|"]
    out += [f"| {row['layers']} | {mb(row['plain'])} MB | {mb(row['root'])} MB | "
            f"{mb(row['layers_each'])} MB | {row['layers_each'] / row['plain']:.3f} |"
            for row in result["by_depth"]]
    out += ["", f"{result['layers']} layers, by the number of segments c:", "",
            "| segments c | activations |", "|--:|--:|"]
    out += [f"| {row['segments']} | {mb(row['bytes'])} MB |" for row in result["by_segments"]]
    return "\n".join(out) + "\n"


def label(x, y, words, anchor="start", size=12, fill="#1f2933"):
    return (f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' fill='{fill}' "
            f"{FONT}>{words}</text>")


def picture(result):
    left, right, top, bottom, width, height = 70, 190, 50, 50, 760, 380
    rows = result["by_depth"]
    most = max(row["plain"] for row in rows) / 1e6

    def at(layers, count):
        x = left + (width - left - right) * layers / DEPTHS[-1]
        y = height - bottom - (height - top - bottom) * count / 1e6 / most
        return x, y

    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
           f"viewBox='0 0 {width} {height}'>",
           f"<rect width='{width}' height='{height}' fill='white'/>",
           label(16, 26, "Activations of one training step, MB, by the number of layers", size=15)]
    for n in [0] + DEPTHS:
        x, y = at(n, 0)
        out.append(label(x, y + 20, str(n), "middle"))
    step = 2 * 10 ** math.floor(math.log10(most / 2))
    for k in range(int(most / step) + 1):
        x, y = at(0, k * step * 1e6)
        out.append(f"<line x1='{x}' x2='{width - right}' y1='{y:.1f}' y2='{y:.1f}' "
                   "stroke='#e4e7eb'/>")
        out.append(label(x - 8, y + 4, f"{k * step:g}", "end"))
    lowest = height
    for key, words, color in SERIES:
        name = "layers_each" if key == "layers" else key
        points = [at(row["layers"], row[name]) for row in rows]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2'/>")
        out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{color}'/>" for x, y in points]
        y = points[-1][1]
        shown = y if key == "plain" else min(max(y, lowest + 16), height - bottom)
        lowest = shown
        out.append(label(points[-1][0] + 10, shown + 4, words, fill=color))
    out.append(label((left + width - right) / 2, height - 10, "layers", "middle"))
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    result = measure(parser.parse_args().hone)
    (RESULTS / "checkpointing.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "checkpointing.md").write_text(page(result))
    (RESULTS / "checkpointing.svg").write_text(picture(result))


if __name__ == "__main__":
    main()
