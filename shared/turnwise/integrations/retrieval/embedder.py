"""Embedders, which make vectors of texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from turnwise.models.tokens.usage import NO_USAGE, LLMTokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """One vector for each text, in order, and what they cost.

    `counted`: whether the calls were paid from the limits of their run as they were made. What an embedder of your own
    used is counted once its vectors are there; if it asks one that has `counted` set, hand that on.
    """

    vectors: Sequence[Sequence[float]]
    usage: LLMTokenUsage = field(default_factory=LLMTokenUsage)
    counted: bool = False


_SPENT = "_embeddings_usage"


def spent_before(error: BaseException, usage: LLMTokenUsage) -> None:
    """Note on an error what the requests before the one that failed used, and the run has counted."""
    vars(error)[_SPENT] = usage


def take_spent(error: BaseException) -> LLMTokenUsage:
    """Return what `spent_before` noted, and forget it, so that it is counted once on the error's way."""
    used = vars(error).pop(_SPENT, NO_USAGE)
    return used if isinstance(used, LLMTokenUsage) else NO_USAGE


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of equal length, near to each other where the texts mean the same.

    `name` says which vectors can be compared: a store refuses an embedder of another name than the one that filled
    it. It may be an attribute of the class or of the object, or a property. Subclass it to inherit `embed_async`.
    """

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The model, with whatever else changes its vectors."""

    else:
        name: str  # a property here would be inherited, and no subclass could set its own

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of the texts, in as many calls of a server as it takes; raises `ModelError`."""

    async def embed_async(self, texts: Sequence[str]) -> Embeddings:
        """The same as `embed`, without blocking the event loop; here, in a thread."""
        return await asyncio.to_thread(self.embed, texts)
