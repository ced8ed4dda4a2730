"""Embeddings over real HTTP: the fake server as OpenAI's client sees it, and our embedder against it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from pydantic import SecretStr
from tests.support.vector_stores import documents, sqlite_config

from turnwise import Embeddings, HashingEmbedder, OpenAIEmbedder
from turnwise.errors import ConfigurationError, ModelRequestError, ModelUnavailableError
from turnwise.testing.fake_llm.server import FakeLLMServer

TEXTS = ["A refund takes five days.", "Rückerstattung 🙂", "x"]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer([]) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: FakeLLMServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as made:
        yield made


def embedder(server: FakeLLMServer, **settings: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(api_base=server.base_url, api_key=SecretStr("k"), **settings)


@contextmanager
def answering(body: object) -> Iterator[str]:
    """A server that answers everything with `body`, bytes as they are; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/v1"
        finally:
            listening.shutdown()
            thread.join()


def run_embed_async(url: str) -> Callable[[Sequence[str]], Embeddings]:
    return lambda texts: asyncio.run(OpenAIEmbedder(api_base=url).embed_async(texts))


def test_openais_client_gets_the_same_vectors_in_both_encodings(client: openai.OpenAI) -> None:
    as_base64 = client.embeddings.create(model="any", input=TEXTS)
    as_float = client.embeddings.create(model="any", input=TEXTS, encoding_format="float")

    assert [item.index for item in as_float.data] == [0, 1, 2]
    assert [list(item.embedding) for item in as_base64.data] == [item.embedding for item in as_float.data]
    assert len(as_float.data[0].embedding) == 512
    assert as_float.model == "any"
    assert as_float.usage.prompt_tokens == as_float.usage.total_tokens == 7 + 4 + 1


def test_vectors_are_those_of_the_hashing_embedder(client: openai.OpenAI) -> None:
    made = client.embeddings.create(model="any", input="A refund", dimensions=64, encoding_format="float")

    assert made.data[0].embedding == list(HashingEmbedder(dimension=64).embed(["A refund"]).vectors[0])


def test_tokens_are_embedded_like_texts(client: openai.OpenAI) -> None:
    one = client.embeddings.create(model="any", input=[1, 2, 3], encoding_format="float")
    two = client.embeddings.create(model="any", input=[[1, 2, 3], [4]], encoding_format="float")

    assert len(one.data) == 1
    assert len(two.data) == 2
    assert one.data[0].embedding == two.data[0].embedding


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"input": "x"}, "model"),
        ({"model": "m"}, "input"),
        ({"model": "m", "input": ""}, "at least 1"),
        ({"model": "m", "input": []}, "at least 1"),
        ({"model": "m", "input": ["a", ""]}, "at least 1"),
        ({"model": "m", "input": ["a"] * 2049}, "at most 2048"),
        ({"model": "m", "input": "x", "encoding_format": "int8"}, "encoding_format"),
        ({"model": "m", "input": "x", "dimensions": 0}, "dimensions"),
        ([1], "should be an object"),
    ],
)
def test_a_bad_request_is_refused_with_the_field(server: FakeLLMServer, body: Any, told: str) -> None:
    response = httpx2.post(f"{server.base_url}/embeddings", json=body)

    assert response.status_code == 400
    assert "not an embeddings request" in response.json()["error"]["message"]
    assert told in response.json()["error"]["message"]


def test_the_server_lists_its_embedding_model_and_counts_texts(server: FakeLLMServer, client: openai.OpenAI) -> None:
    before = server.stats()

    client.embeddings.create(model="any", input=["a", "b"])

    assert "turnwise-fake-embedding" in [model.id for model in client.models.list()]
    assert server.stats() == before | {"texts": before["texts"] + 2}


@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_an_embedder_sends_batches_and_adds_up_what_they_cost(server: FakeLLMServer, encoding: str) -> None:
    texts = [f"text number {number}" for number in range(7)]
    made = embedder(server, batch_size=3, dimensions=32, encoding=encoding, input_price=Decimal(2))

    found = made.embed(texts)

    assert [list(vector) for vector in found.vectors] == [
        list(vector) for vector in HashingEmbedder(dimension=32).embed(texts).vectors
    ]
    assert found.usage.calls == 3
    assert found.usage.cost == found.usage.prompt_tokens * Decimal(2) / 1_000_000 > 0
    assert asyncio.run(made.embed_async(texts)) == found
    assert made.embed([]).vectors == []


def test_the_name_tells_vectors_apart_that_can_not_be_compared() -> None:
    names = {OpenAIEmbedder().name, OpenAIEmbedder(dimensions=256).name, OpenAIEmbedder(model="other").name}

    assert names == {"text-embedding-3-small", "text-embedding-3-small-256", "other"}


def test_the_price_list_knows_openais_models(server: FakeLLMServer) -> None:
    assert embedder(server, provider="openai").embed(["a text"]).usage.cost
    assert embedder(server).embed(["a text"]).usage.cost is None


def test_key_and_address_come_from_the_environment(server: FakeLLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    assert len(OpenAIEmbedder().embed(["a"]).vectors[0]) == 512


def test_a_missing_key_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match=r"text-embedding-3-small.*set OPENAI_API_KEY"):
        OpenAIEmbedder().embed(["a"])


def test_a_refused_text_and_a_missing_server_are_told(server: FakeLLMServer) -> None:
    with pytest.raises(ModelRequestError, match="400: not an embeddings request"):
        embedder(server).embed([""])
    with pytest.raises(ModelUnavailableError, match=r"text-embedding-3-small at http://127\.0\.0\.1:9/v1"):
        OpenAIEmbedder(api_base="http://127.0.0.1:9/v1").embed(["a"])


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"data": []},
        {"data": [{"embedding": None}]},
        {"data": [{"embedding": "no base64!"}]},
        {"data": [{"embedding": "AAA="}]},
        {"data": [{"embedding": ["a"]}]},
        {"data": [1]},
        {"data": [{"embedding": [10**400]}]},
        b"",
        b'{"data":[{"in',
        b"<html>",
        b"\xff\xfe{}",
    ],
)
def test_an_answer_without_usable_vectors_is_told(body: object) -> None:
    with answering(body) as url:
        for embed in (OpenAIEmbedder(api_base=url).embed, run_embed_async(url)):
            with pytest.raises(ModelUnavailableError, match="holds no embeddings") as told:
                embed(["a"])
            assert told.value.may_have_cost


def test_a_server_that_sorts_otherwise_or_tells_no_usage_is_understood() -> None:
    data = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1, 0]}]

    with answering({"data": data}) as url:
        found = OpenAIEmbedder(api_base=url).embed(["a", "bcd"])

    assert [list(vector) for vector in found.vectors] == [[1, 0], [0, 1]]
    assert (found.usage.prompt_tokens, found.usage.calls) == (4, 1)


def test_a_store_over_a_server_finds_what_a_local_one_finds(server: FakeLLMServer, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    remote, local = sqlite_config(tmp_path, embedder(server)).open(), sqlite_config(tmp_path / "local").open()
    remote.add(documents())
    local.add(documents())

    assert remote.search("forgotten password") == local.search("forgotten password")
