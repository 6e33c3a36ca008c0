"""LlamaIndex's client of text-embeddings-inference."""
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

from served import EMBED_URL, EMBEDDER, TEXTS, VECTORS, done, same


def main():
    client = TextEmbeddingsInference(model_name=EMBEDDER, base_url=EMBED_URL, timeout=20,
                                     query_instruction="", text_instruction="")
    same(client.get_text_embedding_batch(TEXTS), VECTORS, "texts")
    same(client.get_query_embedding(TEXTS[0]), VECTORS[0], "query")
    done(f"texts and queries, {len(TEXTS)} texts")


main()
