"""tritonclient over HTTP with its defaults: texts go as bytes behind the JSON, and so come answers."""
import numpy as np
import tritonclient.http as triton

from served import CLASSIFIER, EMBEDDERS, LABELS, LOGITS, PLAIN, SCORES, TEXTS, URL, done, same


def infer(client, model, binary, **options):
    texts = triton.InferInput("text", [len(TEXTS)], "BYTES")
    texts.set_data_from_numpy(np.array([text.encode() for text in TEXTS], dtype=object),
                              binary_data=binary)
    return client.infer(model, [texts], **options)


def main():
    client = triton.InferenceServerClient(URL.removeprefix("http://"))
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready(CLASSIFIER) and not client.is_model_ready("absent")
    assert client.get_server_metadata()["name"]
    outputs = client.get_model_metadata(EMBEDDERS[0])["outputs"]
    assert [output["name"] for output in outputs] == ["embedding"], outputs
    best = [LABELS[int(np.argmax(scores))].encode() for scores in SCORES]

    for binary in True, False:
        answer = infer(client, CLASSIFIER, binary, request_id="7")
        assert answer.get_response()["id"] == "7" and answer.get_response()["model_name"] == CLASSIFIER
        same(answer.as_numpy("scores"), SCORES, "scores")
        same(answer.as_numpy("logits"), LOGITS, "logits")
        assert list(answer.as_numpy("label")) == best, answer.as_numpy("label")
        for model in EMBEDDERS:
            same(infer(client, model, binary).as_numpy("embedding"), PLAIN[model], model)

    asked = [triton.InferRequestedOutput("scores", binary_data=False),
             triton.InferRequestedOutput("logits")]
    answer = infer(client, CLASSIFIER, True, outputs=asked)
    same(answer.as_numpy("scores"), SCORES, "scores as JSON")
    same(answer.as_numpy("logits"), LOGITS, "logits as bytes")
    classes = infer(client, CLASSIFIER, True,
                    outputs=[triton.InferRequestedOutput("scores", class_count=1)])
    got = [row[0].split(b":")[2] for row in classes.as_numpy("scores")]
    assert got == best, got

    try:
        infer(client, "absent", True)
        raise AssertionError("a model that is not there answered")
    except triton.InferenceServerException as error:
        assert "absent" in error.message(), error
    done(f"infer in binary and in JSON, three models, {len(TEXTS)} texts")


main()
