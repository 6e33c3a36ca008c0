"""From process start to answer: one sentence through hone predict with MiniLM.

Used by run.py. MiniLM is a bare encoder, so a copy with a two-label head is made in the cache.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("HONE_CACHE", ROOT / ".cache"))
SENTENCE = "a gorgeous, witty, seductive movie ."
TRANSFORMERS = """
import sys, torch, transformers
folder, text = sys.argv[1:]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
with torch.inference_mode():
    print(model(**tokenizer(text, return_tensors="pt")).logits)
"""


def minilm_classifier():
    """The folder, or None where MiniLM cannot be had; the reason has been printed then."""
    encoder, folder = CACHE / "minilm", CACHE / "minilm-classifier"
    if folder.exists():
        return folder
    if subprocess.run([str(ROOT / "tools/get_minilm"), str(encoder)]).returncode != 0:
        return None
    scratch = CACHE / "minilm-classifier.tmp"
    scratch.mkdir(exist_ok=True)
    with (encoder / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    named = {f"bert.{name}": entry for name, entry in header.items()}
    head = struct.pack("<768f", *(((i * 37) % 101 - 50) / 500 for i in range(768)))
    head += struct.pack("<2f", 0.1, -0.1)
    at = len(data)
    for name, shape, size in (("weight", [2, 384], 3072), ("bias", [2], 8)):
        named[f"classifier.{name}"] = {"dtype": "F32", "shape": shape,
                                       "data_offsets": [at, at + size]}
        at += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **named}).encode()
    text += b" " * (-len(text) % 8)
    (scratch / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data + head)
    config = json.loads((encoder / "config.json").read_text())
    config.update(architectures=["BertForSequenceClassification"],
                  id2label={"0": "negative", "1": "positive"},
                  label2id={"negative": 0, "positive": 1})
    (scratch / "config.json").write_text(json.dumps(config, indent=2))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (scratch / name).write_bytes((encoder / name).read_bytes())
    scratch.rename(folder)
    return folder


def once(command):
    """Seconds of wall time and peak resident bytes of one run, its output checked to be there.

    A child's peak starts at the peak of the process that it was forked from, so the caller must be
    small: see apart().
    """
    reader, writer = os.pipe()
    begin = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, reader)])
    os.close(writer)
    with os.fdopen(reader) as output:
        said = output.read()
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != 0 or not said.strip():
        raise RuntimeError(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss * 1024


def apart(command, runs):
    """Times the command from a fresh interpreter, which holds a few MB; sorted by time.

    The first run is not counted: it brings the files into the page cache.
    """
    call = [sys.executable, __file__, str(runs), *command]
    done = subprocess.run(call, stdout=subprocess.PIPE, check=True)
    return sorted(json.loads(done.stdout))


def measure(hone, runs=15):
    """The start case's row, or None without MiniLM."""
    folder = minilm_classifier()
    if folder is None:
        return None
    sentence = CACHE / "sentence.txt"
    sentence.write_text(SENTENCE + "\n")
    results = apart([hone, "predict", "--model", str(folder), "--input", str(sentence)], runs)
    return {"case": "minilm-start", "median_ms": 1e3 * results[runs // 2][0],
            "p10_ms": 1e3 * results[runs // 10][0], "p90_ms": 1e3 * results[runs * 9 // 10][0],
            "peak_rss_bytes": max(peak for _, peak in results),
            "weights_bytes": (folder / "model.safetensors").stat().st_size}


def measure_transformers(python):
    """The same sentence through transformers, once."""
    folder = minilm_classifier()
    if folder is None:
        return None
    seconds, peak = apart([python, "-c", TRANSFORMERS, str(folder), SENTENCE], 1)[0]
    return {"peer": "transformers", "case": "minilm-start", "median_ms": 1e3 * seconds,
            "p10_ms": 1e3 * seconds, "p90_ms": 1e3 * seconds, "peak_rss_bytes": peak}


if __name__ == "__main__":
    once(sys.argv[2:])
    print(json.dumps([once(sys.argv[2:]) for _ in range(int(sys.argv[1]))]))
