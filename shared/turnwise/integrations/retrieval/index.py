"""The database of a vector store: it keeps vectors and finds the nearest ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.document import Document, Scalar

# A filter in one form: key -> the values of which it must have one.
Filter = Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A set of vectors that can be compared with each other: of one embedder, of one length."""

    embedder: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A document and its vector."""

    document: Document
    vector: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found, and its cosine distance: 0 in the same direction, 2 in the opposite one."""

    id: str
    text: str
    metadata: dict[str, Scalar]
    distance: float


class VectorIndex(Protocol):
    """One collection of vectors in a database; safe to share between threads and with other processes."""

    def put(self, rows: Sequence[Row], space: Space | None, replacing: Filter | None) -> None:
        """Delete what `replacing` matches and write the rows, in one transaction; the first write fixes the space."""

    def nearest(self, vector: Sequence[float], space: Space, k: int, where: Filter) -> list[Hit]:
        """Up to `k` matching documents, nearest first; none if nothing was ever written."""

    def delete(self, ids: Sequence[str] | None, where: Filter) -> int:
        """Delete what has one of the ids (None: any) and matches; returns how many."""

    def count(self, where: Filter) -> int:
        """Return how many match."""

    def clear(self) -> None:
        """Delete everything, the space too."""

    def close(self) -> None:
        """Give back connections; a later call opens them again."""


def check_space(place: str, kept: Space, given: Space) -> None:
    """Raise `ConfigurationError` if vectors of `given` cannot be compared with those kept in `place`."""
    if kept == given:
        return
    raise ConfigurationError(
        f"{place} holds vectors of {kept.embedder} with {kept.dimension} numbers each, but the store's embedder is "
        f"{given.embedder} with {given.dimension}: use the embedder that filled it, or another collection, or clear() "
        "it and add the documents again"
    )
