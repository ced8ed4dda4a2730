"""The interface of a vector store to an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from turnwise.errors import InvalidRequestError
from turnwise.integrations.retrieval.document import Document

if TYPE_CHECKING:
    from turnwise.integrations.retrieval.document import ScoredDocument, Where


@runtime_checkable
class VectorStore(Protocol):
    """Documents that can be found by their meaning; safe to share between threads.

    `AgentConfig.vecdb` takes any object with these methods. Subclass it to inherit `search_async`.
    """

    def add(self, documents: Iterable[Document], *, replacing: Where | None = None) -> list[str]:
        """Add documents, each in place of the one with its id; returns their ids.

        All become visible at once, and what `replacing` matches is gone in the same moment.
        """

    def search(
        self, query: str, k: int = 4, *, where: Where | None = None, min_score: float | None = None
    ) -> list[ScoredDocument]:
        """Up to `k` documents that match `where`, nearest to the query first; none for a blank query.

        `min_score` (-1 to 1) leaves out what is farther away.
        """

    async def search_async(
        self, query: str, k: int = 4, *, where: Where | None = None, min_score: float | None = None
    ) -> list[ScoredDocument]:
        """The same without blocking the event loop; here, in a thread."""
        return await asyncio.to_thread(self.search, query, k, where=where, min_score=min_score)

    def delete(self, ids: Iterable[str] | None = None, *, where: Where | None = None) -> int:
        """Delete documents by id, by filter, or those that fit both; returns how many there were."""

    def count(self, where: Where | None = None) -> int:
        """Return how many documents there are, or match."""

    def clear(self) -> None:
        """Delete all documents, and forget which embedder they were made with."""

    def close(self) -> None:
        """Give back connections; a later call opens them again."""


def documents_of(function: str, given: Iterable[Document] | Document) -> Iterator[Document]:
    """The documents that `function` got; raises `InvalidRequestError` for one without a list, or for anything else."""
    if isinstance(given, Document):
        raise InvalidRequestError(f"{function}() got a document; expected a list of documents: {function}([document])")
    for document in given:
        if not isinstance(document, Document):
            raise InvalidRequestError(f"{function}() got {document!r:.100} among the documents; expected a Document")
        yield document
