"""Names of `langroid.cachedb`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.langroid.cachedb import base, redis_cachedb

__all__ = [
    "base",
    "redis_cachedb",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
