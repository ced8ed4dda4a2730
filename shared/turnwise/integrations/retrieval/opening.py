"""Open databases of vector stores, shared by all stores of a process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING

from turnwise.integrations.retrieval.index import VectorIndex

if TYPE_CHECKING:
    from turnwise.integrations.retrieval.config import VectorStoreConfig


class Opened:
    """Hands out one index for each place; one instance serves a process, across threads and forks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: dict[Hashable, VectorIndex] = {}

    def index(self, config: VectorStoreConfig) -> VectorIndex:
        """The index of the configuration's place, made at the first request."""
        # A forked child must not speak on its parent's connections.
        key = (os.getpid(), config.place())
        with self._lock:
            found = self._indexes.get(key)
            if found is None:
                found = self._indexes[key] = config.make_index()
            return found

    def close(self) -> None:
        """Close what this process opened; later calls open it again."""
        with self._lock:
            mine = [key for key in self._indexes if isinstance(key, tuple) and key[0] == os.getpid()]
            indexes = [self._indexes.pop(key) for key in mine]
        for index in indexes:
            index.close()


# Connections, made on demand and keyed by process and place: nothing that a test would have to patch.
opened = Opened()
atexit.register(opened.close)
