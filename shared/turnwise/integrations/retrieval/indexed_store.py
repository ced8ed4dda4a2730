"""A vector store: an embedder before, a database behind."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.base.json_bounds import is_unicode
from turnwise.base.sync_async import Effect, Steps, run_async, run_sync
from turnwise.errors import ConfigurationError, InvalidRequestError
from turnwise.integrations.retrieval.document import Document, Metadata, Scalar, ScoredDocument, Where, checked_text
from turnwise.integrations.retrieval.embedder import Embedder, Embeddings, take_spent
from turnwise.integrations.retrieval.index import Filter, Hit, Row, Space, VectorIndex
from turnwise.integrations.retrieval.store import VectorStore, documents_of
from turnwise.models.budget.gate import current_gate
from turnwise.models.tokens.usage import LLMTokenUsage

# Told of what each call of the embedder cost, with the embedder's name.
OnUsage = Callable[[LLMTokenUsage, str], None]
_BEYOND = 2**63  # the first number that no database takes as an integer


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedStore(VectorStore):
    """The store that `VectorStoreConfig.open` makes. Safe to share between threads, not across a fork."""

    embedder: Embedder
    index: VectorIndex
    on_usage: OnUsage | None = None

    def counting(self, on_usage: OnUsage) -> IndexedStore:
        """The same store, telling `on_usage` what its embedder costs; the run that it is for has counted that."""
        return replace(self, on_usage=on_usage)

    def add(self, documents: Iterable[Document], *, replacing: Where | None = None) -> list[str]:
        """See `VectorStore.add`. Raises `ConfigurationError` for another embedder than the one that filled it."""
        return run_sync(self._add(documents, replacing))

    async def add_async(self, documents: Iterable[Document], *, replacing: Where | None = None) -> list[str]:
        """The same as `add`, without blocking the event loop."""
        return await run_async(self._add(documents, replacing))

    def search(
        self, query: str, k: int = 4, *, where: Where | None = None, min_score: float | None = None
    ) -> list[ScoredDocument]:
        """See `VectorStore.search`. Raises `InvalidRequestError` for a `k` below 1."""
        return run_sync(self._search(query, k, where, min_score))

    async def search_async(
        self, query: str, k: int = 4, *, where: Where | None = None, min_score: float | None = None
    ) -> list[ScoredDocument]:
        """The same as `search`, without blocking the event loop."""
        return await run_async(self._search(query, k, where, min_score))

    def delete(self, ids: Iterable[str] | None = None, *, where: Where | None = None) -> int:
        """See `VectorStore.delete`. Raises `InvalidRequestError` if neither is given: that would be `clear`."""
        if ids is None and not where:
            raise InvalidRequestError("delete() got neither ids nor a filter; to delete everything, call clear()")
        if isinstance(ids, str):
            raise InvalidRequestError(f"delete() got the text {ids!r} as ids; expected a list of ids")
        wanted = None if ids is None else sorted({_text("an id", id) for id in ids})
        return self.index.delete(wanted, _filter(where))

    def count(self, where: Where | None = None) -> int:
        return self.index.count(_filter(where))

    def clear(self) -> None:
        self.index.clear()

    def close(self) -> None:
        self.index.close()

    def _add(self, documents: Iterable[Document], replacing: Where | None) -> Steps[list[str]]:
        by_id = {document.id: document for document in documents_of("add", documents)}
        gone = None if replacing is None else _filter(replacing)
        if replacing is not None and not gone:
            raise InvalidRequestError("add() got an empty filter as `replacing`; to replace everything, clear() first")
        rows: list[Row] = []
        space = None
        if by_id:
            vectors = yield from self._embedded([document.text for document in by_id.values()])
            rows = [Row(document=d, vector=v) for d, v in zip(by_id.values(), vectors, strict=True)]
            # In one order everywhere, so that writers never wait for each other in a circle.
            rows.sort(key=lambda row: row.document.id)
            space = self._space(vectors)
        if rows or gone:
            yield _in_thread(lambda: self.index.put(rows, space, gone))
        return list(by_id)

    def _search(self, query: str, k: int, where: Where | None, min_score: float | None) -> Steps[list[ScoredDocument]]:
        if not isinstance(k, int) or not 1 <= k < _BEYOND:
            raise InvalidRequestError(
                f"search() got k={k!r}; expected how many documents to find, an int from 1 to {_BEYOND - 1}"
            )
        if not isinstance(query, str):
            raise InvalidRequestError(f"search() got the query {query!r}; expected a text")
        if min_score is not None and (isinstance(min_score, bool) or not isinstance(min_score, (int, float))):
            raise InvalidRequestError(f"search() got min_score={min_score!r}; expected a number from -1 to 1, or None")
        if not query.strip():
            return []
        if not is_unicode(query):
            raise InvalidRequestError("search() got a query that holds half of a surrogate pair, which is no text")
        wanted = _filter(where)
        vectors = yield from self._embedded([query])
        space = self._space(vectors)
        hits: list[Hit] = yield _in_thread(lambda: self.index.nearest(vectors[0], space, k, wanted))
        found = [_scored(hit) for hit in hits]
        found.sort(key=lambda document: (-document.score, document.id))
        return [document for document in found if min_score is None or document.score >= min_score]

    def _embedded(self, texts: Sequence[str]) -> Steps[Sequence[Sequence[float]]]:
        embedder = self.embedder
        made: Embeddings
        try:
            made = yield Effect(sync=lambda: embedder.embed(texts), awaited=lambda: embedder.embed_async(texts))
        except BaseException as error:
            self._tell(take_spent(error))
            raise
        if not isinstance(made, Embeddings):
            raise ConfigurationError(f"embedder {embedder.name} returned {type(made).__name__}; expected Embeddings")
        self._count(made)
        _check(made.vectors, len(texts), embedder.name)
        return made.vectors

    def _count(self, made: Embeddings) -> None:
        gate = current_gate()
        if gate is not None and not made.counted and made.usage.calls:
            gate.count(made.usage)
        self._tell(made.usage)

    def _tell(self, used: LLMTokenUsage) -> None:
        if self.on_usage is not None and used.calls:
            self.on_usage(used, self.embedder.name)

    def _space(self, vectors: Sequence[Sequence[float]]) -> Space:
        return Space(embedder=self.embedder.name, dimension=len(vectors[0]))


def _in_thread(call: Callable[[], Any]) -> Effect:
    return Effect(sync=call, awaited=lambda: asyncio.to_thread(call))


def _check(vectors: Sequence[Sequence[float]], texts: int, embedder: str) -> None:
    """Raise `ConfigurationError` unless there is a usable vector for each text."""
    try:
        _check_vectors(vectors, texts, embedder)
    except TypeError as error:
        raise ConfigurationError(
            f"embedder {embedder} made vectors that cannot be used ({error}); expected a list of lists of numbers"
        ) from error


def _check_vectors(vectors: Sequence[Sequence[float]], texts: int, embedder: str) -> None:
    if len(vectors) != texts or len({len(vector) for vector in vectors}) != 1:
        lengths = sorted({len(vector) for vector in vectors})
        raise ConfigurationError(
            f"embedder {embedder} made {len(vectors)} vectors of length {lengths} for {texts} texts; expected one for "
            "each, all of the same length"
        )
    for vector in vectors:
        norm = math.fsum(number * number for number in vector)
        if not 0 < norm < math.inf:
            raise ConfigurationError(
                f"embedder {embedder} made a vector of length {math.sqrt(norm) if norm >= 0 else norm}, which has no "
                "direction to compare; expected finite numbers that are not all 0"
            )


def _scored(hit: Hit) -> ScoredDocument:
    # What comes out of a store was checked on its way in.
    score = min(1.0, max(-1.0, 1.0 - hit.distance))
    return ScoredDocument.model_construct(id=hit.id, text=hit.text, metadata=Metadata(hit.metadata), score=score)


def _filter(where: Where | None) -> Filter:
    return {_text("a key of the filter", key): _values(key, value) for key, value in (where or {}).items()}


def _values(key: str, value: Scalar | Sequence[Scalar]) -> list[Scalar]:
    values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for item in values:
        if isinstance(item, str):
            _text(f"the filter for {key!r}", item)
        elif not isinstance(item, (int, float)):
            raise InvalidRequestError(
                f"the filter for {key!r} holds {item!r}; expected a text, a number or a boolean, or a list of them"
            )
        elif not (math.isfinite(item) if isinstance(item, float) else -_BEYOND <= item < _BEYOND):
            raise InvalidRequestError(f"the filter for {key!r} holds {item!r}; expected a number of up to 64 bits")
    return values


def _text(what: str, text: Any) -> str:
    """The text; raises `InvalidRequestError` for one that no database can be asked for."""
    if not isinstance(text, str):
        raise InvalidRequestError(f"{what} is {text!r}; expected a text")
    try:
        return checked_text(text)
    except ValueError as error:
        raise InvalidRequestError(f"{what} {error}") from error
