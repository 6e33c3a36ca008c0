"""Trains an LSTM with hone and compares its answers with a plain PyTorch module of the same weights.

    tests/parity/lstm_compare.py [--hone build/hone]

The module takes the folder's model.safetensors by its names, and the words are cleaned in Python.
Both meanings of the last step; logits agree within 1e-5.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch

from lstm_module import ROOT, Lstm, clean_words, encode, read_vocabulary, stop_words

TEXTS = ["A great film, twice over.", "two hours I won't get back", "", "!?", "film " * 150,
         "The acting was DULL; I don\u2019t recommend it", "\u00e9t\u00e9 2024"]


def compare(hone, folder, last):
    subprocess.run([hone, "train", "--model_type", "lstm", "--config_overrides", f"last={last}",
                    "--max_steps", "30", "--output_dir", folder, "--save_strategy", "no",
                    "--learning_rate", "0.01", "--quiet"], check=True)
    out = subprocess.run([hone, "predict", "--model", folder, "--raw", "--format", "jsonl"],
                         input="".join(json.dumps({"text": t}) + "\n" for t in TEXTS),
                         capture_output=True, text=True, check=True).stdout
    got = [json.loads(line)["logits"][1] for line in out.splitlines()]
    module, config = Lstm.of_folder(folder)
    places, stops = read_vocabulary(folder), stop_words()
    rows = [encode(clean_words(t, stops), places, config["max_length"], last != "text")
            for t in TEXTS]
    with torch.inference_mode():
        wanted = module.eval()(torch.tensor([r[0] for r in rows]), [r[1] for r in rows]).squeeze(1)
    worst = max(abs(a - b) for a, b in zip(got, wanted.tolist(), strict=True))
    print(f"last={last}: logits differ by {worst:.1e}")
    assert worst < 1e-5


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=ROOT / "build/hone", type=pathlib.Path)
    given = parser.parse_args()
    for meaning in ("text", "padded_row"):
        with tempfile.TemporaryDirectory() as scratch:
            compare(given.hone, pathlib.Path(scratch) / "out", meaning)
