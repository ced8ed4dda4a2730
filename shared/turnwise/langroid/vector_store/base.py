"""Names of `langroid.vector_store.base`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import VectorStore, VectorStoreConfig

__all__ = [
    "VectorStore",
    "VectorStoreConfig",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
