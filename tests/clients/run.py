#!/usr/bin/env python3
"""Runs real clients against `hone serve` on loopback and compares what they get with hone's answers.

    tests/clients/run.py --hone build/hone --tools .cache/clients [NAME...]

--tools is the folder that tools/test_clients fills. Each client is a program of its own, which has
two minutes; its last line says what it compared. The exit code is 1 where one of them fails.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from hone_server import HoneServer

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE.parent / "models/goldens"
MODELS = {"reviews": GOLDENS / "bert-words", "sentences": GOLDENS / "sentence-bert-mean",
          "unscaled": GOLDENS / "sentence-distilbert-cls", "ranker": GOLDENS / "roberta-regression"}
EMBEDDERS = ["sentences", "unscaled"]  # the first one's folder scales vectors to length 1
TEXTS = ["a great film", "the plot is dull and the actors never act", "it was fun , the best !",
         "not good", "日本 cafe ? hated it", " ".join(["never ever a very bad movie"] * 6)]
CLIENT_SECONDS = 120
PYTHON = "python"
CLIENTS = {
    "huggingface_hub": [PYTHON, "huggingface_hub_client.py"],
    "@huggingface/inference": ["node", "huggingface_inference.mjs"],
    "tritonclient": [PYTHON, "triton_client.py"],
    "openai": [PYTHON, "openai_client.py"],
    "langchain": [PYTHON, "langchain_client.py"],
    "llama-index": [PYTHON, "llama_index_client.py"],
    "prometheus_client": [PYTHON, "prometheus_parser.py"],
    "promtool": ["bash", "metrics_text.sh"],
    "curl": [PYTHON, "curl_client.py"],
    "nginx": [PYTHON, "nginx_probes.py"],
    "chromium": [PYTHON, "page_test.py"],
    "chromium-explain": [PYTHON, "explain_page_test.py"],
}


def answers(hone, command, model, *options, before=()):
    """What hone says of TEXTS, or of pairs of the text `before` and each of them."""
    lines = "".join(json.dumps({"text_pair" if before else "text": text,
                                **({"text": before} if before else {})}) + "\n" for text in TEXTS)
    said = subprocess.run([hone, command, "--quiet", "--format", "jsonl", "--model", model, *options],
                          check=True, input=lines, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in said.stdout.splitlines()]


def expectations(hone):
    raw = answers(hone, "predict", MODELS["reviews"], "--raw")
    labels = list(raw[0]["scores"])
    plain, scaled = ({name: [answer["embedding"]
                             for answer in answers(hone, "embed", MODELS[name], *options)]
                      for name in EMBEDDERS} for options in ([], ["--normalize"]))
    ranks = answers(hone, "predict", MODELS["ranker"], "--raw", before=TEXTS[0])
    return {"texts": TEXTS, "ranks": [answer["logits"][0] for answer in ranks],
             "labels": labels, "classifier": "reviews", "embedders": EMBEDDERS,
            "scores": [[answer["scores"][label] for label in labels] for answer in raw],
            "logits": [answer["logits"] for answer in raw], "plain": plain, "scaled": scaled}


def run_client(name, tools, settings):
    """Whether it passed, what it said, and its seconds."""
    program, *arguments = CLIENTS[name]
    if program == PYTHON:
        program = tools / "venv/bin/python"
    begin = time.monotonic()
    try:
        done = subprocess.run([program, *[HERE / argument for argument in arguments]], env=settings,
                              capture_output=True, text=True, timeout=CLIENT_SECONDS)
        lines = (done.stdout if done.returncode == 0 else done.stderr + done.stdout).splitlines()
        passed, said = done.returncode == 0, lines
    except subprocess.TimeoutExpired as late:
        said = [*(late.stderr or b"").decode().splitlines(), f"not done in {CLIENT_SECONDS} s"]
        passed = False
    return passed, said or ["(no word)"], time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*", choices=[[], *CLIENTS], metavar="NAME")
    arguments = parser.parse_args()
    hone, tools = arguments.hone.resolve(), arguments.tools.resolve()
    scratch = tools / "run"
    scratch.mkdir(exist_ok=True)

    served = expectations(hone)
    results = {}
    with HoneServer(hone, MODELS, scratch / "server.log") as server:
        served.update(url=server.url, embed_url=server.model_url(EMBEDDERS[0]), log=str(server.log))
        (scratch / "served.json").write_text(json.dumps(served))
        settings = {**os.environ, "HONE": str(hone), "HONE_SERVED": str(scratch / "served.json"),
                    "NODE_PACKAGES": str(tools / "node"), "DEBIAN_PROGRAMS": str(tools / "debian"),
                    "SCRATCH": str(scratch), "PYTHONDONTWRITEBYTECODE": "1",
                    "TOKENIZERS_PARALLELISM": "false", "NO_PROXY": "127.0.0.1",
                    "no_proxy": "127.0.0.1"}
        for name in arguments.names or CLIENTS:
            print(f"== clients: {name}", flush=True)
            results[name] = run_client(name, tools, settings)
            if not results[name][0]:
                print("\n".join(results[name][1]), flush=True)
    print(f"\n{'client':<24}{'':<8}{'s':>6}  compared")
    for name, (passed, said, seconds) in results.items():
        print(f"{name:<24}{'ok' if passed else 'FAILED':<8}{seconds:6.1f}  {said[-1]}")
    return 0 if all(passed for passed, _, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
