"""Arguments that a vector store cannot use are told, before anything is asked or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.vector_stores import sqlite_config

from turnwise import Document, Embedder, HashingEmbedder, SqliteVectorConfig, ingest_documents
from turnwise.errors import ConfigurationError, InvalidRequestError
from turnwise.integrations.retrieval.embedder import Embeddings
from turnwise.integrations.retrieval.indexed_store import IndexedStore


@pytest.mark.parametrize("path", [":memory:", ""])
def test_a_database_in_memory_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a file"):
        SqliteVectorConfig(path=Path(path), embedder=HashingEmbedder())


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda store: store.search("a \ud83d b"), "query that holds half of a surrogate pair"),
    (lambda store: store.search("a", min_score="0.2"), "min_score='0.2'; expected a number"),
    (lambda store: store.add(Document(text="a")), r"add\(\) got a document; expected a list"),
    (lambda store: store.add(["a"]), r"add\(\) got 'a' among the documents"),
    (lambda store: ingest_documents(store, Document(text="a")), r"ingest_documents\(\) got a document"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "told"), MISTAKES)
def test_a_wrong_argument_is_told(tmp_path: Path, call: Callable[[IndexedStore], Any], told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        call(sqlite_config(tmp_path).open())


class Odd(Embedder):
    name = "odd"

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made

    def embed(self, texts: Sequence[str]) -> Embeddings:
        made: Embeddings = self._made()
        return made


@pytest.mark.parametrize(
    "made",
    [
        lambda: None,
        lambda: [[1.0]],
        lambda: Embeddings(vectors=None),  # type: ignore[arg-type]
        lambda: Embeddings(vectors=[None]),  # type: ignore[list-item]
        lambda: Embeddings(vectors=["ab"]),  # type: ignore[list-item]
        lambda: Embeddings(vectors=([1.0] for _ in "a")),  # type: ignore[arg-type]
    ],
)
def test_an_embedder_that_makes_no_vectors_is_told(tmp_path: Path, made: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"embedder odd .*expected"):
        sqlite_config(tmp_path, Odd(made)).open().add([Document(text="a")])
