"""curl on every route: the answers of those that compute, the statuses of those that refuse."""
import json
import subprocess

from served import (CLASSIFIER, EMBEDDERS, LABELS, LOGITS, PLAIN, RANKS, SCALED, SCORES, TEXTS, URL,
                    done, same, same_labels)

asked = 0


def curl(path, body=None, expect=200):
    """The body of the answer, read as JSON where it is that."""
    global asked
    asked += 1
    command = ["curl", "-sS", "--max-time", "20", "-w", "\n%{http_code}", URL + path]
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body)
        command += ["-H", "content-type: application/json", "--data-binary", text]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer, _, status = out.rpartition("\n")
    assert int(status) == expect, f"{path} {body}: {status}, expected {expect}: {answer}"
    return json.loads(answer) if answer[:1] in ("{", "[") else answer


def pairs(answer):
    return [(element["label"], element["score"]) for element in answer]


def check_predict():
    for i, text in enumerate(TEXTS):
        same_labels(pairs(curl("/predict", {"inputs": text})), i, "/predict")
        same_labels(pairs(curl("/", {"inputs": text, "parameters": {}})[0]), i, "/")
        raw = curl("/predict", {"inputs": text, "raw_scores": True})
        logits = {element["label"]: element["score"] for element in raw}
        same([logits[label] for label in LABELS], LOGITS[i], "raw_scores")
    for path, inputs in ("/predict", [[text] for text in TEXTS]), ("/predict/batch", TEXTS):
        for i, answer in enumerate(curl(path, {"inputs": inputs})):
            same_labels(pairs(answer), i, path)
    pair = curl("/predict", {"inputs": TEXTS[:2]})
    assert pairs(pair) == pairs(curl("/predict", {"inputs": [TEXTS[:2]]})[0]), "a pair"


def check_embed():
    for name in EMBEDDERS:
        model = f"/models/{name}"
        same(curl(f"{model}/embed", {"inputs": TEXTS}), SCALED[name], "/embed")
        vectors = curl("/v1/embeddings", {"input": TEXTS, "model": name})["data"]
        same([vector["embedding"] for vector in vectors], SCALED[name], "/v1/embeddings")
    plain = curl(f"{model}/embed", {"inputs": TEXTS, "normalize": False})
    same(plain, PLAIN[name], "/embed, not normalized")
    similar = curl(f"{model}/similarity",
                   {"inputs": {"source_sentence": TEXTS[0], "sentences": TEXTS}})
    assert abs(similar[0] - 1) < 1e-6 and len(similar) == len(TEXTS), similar
    tokens = curl(f"{model}/tokenize", {"inputs": TEXTS[0]})[0]
    vectors = curl(f"{model}/embed_all", {"inputs": TEXTS[0]})[0]
    assert len(vectors) == len(tokens), f"/embed_all: {len(vectors)} vectors of {len(tokens)} tokens"
    same(vectors[0], PLAIN[name][0], "/embed_all: the first token's, which this model pools")


def check_rerank():
    body = {"query": TEXTS[0], "texts": TEXTS, "raw_scores": True, "return_text": True}
    ranks = curl("/models/ranker/rerank", body)
    assert [rank["score"] for rank in ranks] == sorted([rank["score"] for rank in ranks], reverse=True)
    for rank in ranks:
        assert rank["text"] == TEXTS[rank["index"]], rank
        same(rank["score"], RANKS[rank["index"]], "/rerank")


def check_tokens():
    tokens = curl("/tokenize", {"inputs": TEXTS[0]})[0]
    assert {"id", "text", "special", "start", "stop"} <= set(tokens[1]), tokens[1]
    ids = [token["id"] for token in tokens]
    assert curl("/decode", {"ids": ids}) == [TEXTS[0]], curl("/decode", {"ids": ids})


def headers_of(path, body):
    """The headers of an answer, by names in small letters."""
    global asked
    asked += 1
    out = subprocess.run(["curl", "-sS", "--max-time", "20", "-o", "/dev/null", "-D", "-",
                          "--data-binary", json.dumps(body), URL + path],
                         check=True, capture_output=True, text=True).stdout
    lines = [line.partition(": ") for line in out.splitlines()[1:] if line]
    return {name.lower(): value for name, _, value in lines}


def counter(name):
    lines = [line.split() for line in curl("/metrics").splitlines() if line.startswith(name + " ")]
    return int(lines[0][1])


def check_explain():
    before = counter("te_explain_success")
    reasons = curl("/explain", {"inputs": TEXTS, "steps": 5})
    for i, told in enumerate(reasons):
        same([told["scores"][label] for label in LABELS], SCORES[i], "/explain")
    assert reasons[0]["phrases"][0]["text"] in TEXTS[0], reasons[0]
    assert counter("te_explain_success") - before == len(TEXTS), "te_explain_success"
    cut = [f"{i}={told['original_tokens']}" for i, told in enumerate(reasons) if told["truncated"]]
    assert cut, "no text was cut"
    headers = headers_of("/explain", {"inputs": TEXTS, "steps": 1})
    assert headers["x-truncated-from"] == ",".join(cut), headers
    assert int(headers["x-compute-tokens"]) == sum(told["tokens"] for told in reasons), headers
    for name in ("compute-time", "total-time", "tokenization-time", "queue-time", "inference-time"):
        assert int(headers[f"x-{name}"]) >= 0, headers


def check_openai_and_kserve():
    answer = curl("/v1/classify", {"model": CLASSIFIER, "input": TEXTS})
    same([item["probs"] for item in answer["data"]], SCORES, "/v1/classify")
    tensor = {"name": "text", "shape": [len(TEXTS)], "datatype": "BYTES", "data": TEXTS}
    answer = curl(f"/v2/models/{CLASSIFIER}/infer", {"id": "a", "inputs": [tensor]})
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["scores"]["shape"] == [len(TEXTS), len(LABELS)] and answer["id"] == "a", answer
    same(outputs["scores"]["data"], sum(SCORES, []), "/v2 infer")


def check_others():
    info = curl("/info")
    assert info["model_type"]["classifier"]["id2label"] == dict(
        (str(i), label) for i, label in enumerate(LABELS)), info
    for path in ("/health", "/ping", "/v2", "/v2/health/live", "/v2/health/ready", "/metrics", "/",
                 f"/v2/models/{CLASSIFIER}", f"/v2/models/{CLASSIFIER}/ready", "/v1/models",
                 "/api-doc/openapi.json"):
        curl(path)


def check_refusals():
    assert curl("/predict", "{", expect=422)["error_type"] == "Validation"
    assert curl("/predict", {"inputs": ""}, expect=400)["error_type"] == "Empty"
    assert "inputs" in curl("/predict", {}, expect=422)["error"]
    assert curl("/predict", {"inputs": [["a"]] * 33}, expect=422)["error_type"] == "Validation"
    long = " ".join(["film"] * 400)
    assert curl("/predict", {"inputs": long, "truncate": False}, expect=422)["error"]
    curl("/predict", {"inputs": long})
    curl("/absent", expect=404)
    curl("/predict", expect=405)
    curl("/predict", "[" * 100_000, expect=422)
    curl("/v2/models/absent/infer", {"inputs": []}, expect=404)


for check in (check_predict, check_embed, check_rerank, check_tokens, check_explain,
              check_openai_and_kserve, check_others, check_refusals):
    check()
done(f"{asked} requests on every route")
