"""Names of `langroid.vector_store`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import VectorStore, VectorStoreConfig
    from turnwise.langroid.vector_store import base

__all__ = [
    "VectorStore",
    "VectorStoreConfig",
    "base",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
