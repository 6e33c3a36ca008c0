"""OpenAI's client: embeddings in base64, which is its default, as floats, and of token ids."""
import openai
import requests

from served import EMBED_URL, EMBEDDER, TEXTS, URL, VECTORS, done, same


def main():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="unused", max_retries=0)
    for options in {}, {"encoding_format": "float"}:
        answer = client.embeddings.create(model=EMBEDDER, input=TEXTS, **options)
        assert answer.model == EMBEDDER and answer.object == "list", answer
        assert [item.index for item in answer.data] == list(range(len(TEXTS)))
        assert answer.usage.total_tokens > 0
        same([item.embedding for item in answer.data], VECTORS, f"embeddings {options}")
    one = client.embeddings.create(model=EMBEDDER, input=TEXTS[0])
    same([one.data[0].embedding], VECTORS[:1], "a string")
    assert EMBEDDER in [model.id for model in client.models.list()]

    tokens = requests.post(f"{EMBED_URL}/tokenize", json={"inputs": TEXTS[0]}, timeout=20).json()
    ids = [token["id"] for token in tokens[0]]
    by_ids = client.embeddings.create(model=EMBEDDER, input=ids)
    same([by_ids.data[0].embedding], VECTORS[:1], "token ids")

    try:
        client.embeddings.create(model="absent", input="a")
        raise AssertionError("a model that is not there answered")
    except openai.NotFoundError as error:
        assert "absent" in error.message, error.message
    done(f"embeddings of {len(TEXTS)} texts in base64, as floats, of token ids")


main()
