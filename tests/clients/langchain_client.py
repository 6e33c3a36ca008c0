"""LangChain's embeddings, through its Hugging Face endpoint and through its OpenAI client.

langchain-huggingface takes an address up to version 1.2.1; later ones want a repository's name.
"""
from langchain_huggingface import HuggingFaceEndpointEmbeddings
from langchain_openai import OpenAIEmbeddings

from served import EMBED_URL, EMBEDDER, TEXTS, URL, VECTORS, done, same


def main():
    endpoint = HuggingFaceEndpointEmbeddings(model=EMBED_URL, huggingfacehub_api_token="unused")
    same(endpoint.embed_documents(TEXTS), VECTORS, "endpoint: documents")
    same(endpoint.embed_query(TEXTS[0]), VECTORS[0], "endpoint: query")

    # Without check_embedding_ctx_length=False it sends the ids of OpenAI's own vocabulary.
    openai = OpenAIEmbeddings(model=EMBEDDER, base_url=f"{URL}/v1", api_key="unused",
                              check_embedding_ctx_length=False)
    same(openai.embed_documents(TEXTS), VECTORS, "openai: documents")
    same(openai.embed_query(TEXTS[0]), VECTORS[0], "openai: query")
    done(f"two classes, documents and queries, {len(TEXTS)} texts")


main()
