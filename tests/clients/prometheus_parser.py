"""prometheus_client's parser reads the metrics, and they count what was asked."""
import requests
from prometheus_client.parser import text_string_to_metric_families

from served import TEXTS, URL, done


def samples():
    answer = requests.get(f"{URL}/metrics", timeout=20)
    assert answer.headers["content-type"].startswith("text/plain"), answer.headers
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(answer.text) for sample in family.samples}


def total(read, name):
    """The parser puts _total behind the names of counters that lack it."""
    return sum(value for (sample, _), value in read.items() if sample in (name, f"{name}_total"))


def main():
    before = samples()
    for text in TEXTS:
        assert requests.post(f"{URL}/predict", json={"inputs": text}, timeout=20).ok
    after = samples()

    for name in ("te_request_count", "te_request_success", "te_predict_count", "te_predict_success",
                 "te_request_duration_count", "te_request_queue_duration_count",
                 "te_request_inference_duration_count", "te_request_tokenization_duration_count",
                 "te_request_input_length_count"):
        grown = total(after, name) - total(before, name)
        assert grown >= len(TEXTS), f"{name} grew by {grown} with {len(TEXTS)} requests"
    for name in ("te_batch_next_size_count", "te_batch_next_tokens_count"):
        assert total(after, name) > total(before, name), name
    assert any(name == "te_queue_size" for name, _ in after), "te_queue_size is not there"
    bounds = [dict(labels)["le"] for name, labels in after if name == "te_request_duration_bucket"]
    assert len(bounds) == 36 and bounds[-1] == "+Inf", bounds
    done(f"{len(after)} samples; counters follow {len(TEXTS)} requests")


main()
