"""huggingface_hub's InferenceClient, as it is documented: the address is the model."""
from huggingface_hub import InferenceClient

from served import EMBED_URL, TEXTS, URL, VECTORS, done, same, same_labels


def main():
    client = InferenceClient(model=URL)
    for i, text in enumerate(TEXTS):
        answer = client.text_classification(text)
        same_labels([(element.label, element.score) for element in answer], i, text)
        best = client.text_classification(text, top_k=1)
        assert len(best) == 1 and best[0].label == answer[0].label, best

    client = InferenceClient(model=EMBED_URL)
    for text, expected in zip(TEXTS, VECTORS):
        same(client.feature_extraction(text), [expected], text)
        same(client.feature_extraction(text, normalize=True), [expected], text)
    done(f"text_classification and feature_extraction of {len(TEXTS)} texts")


main()
