"""Counts of the fake server, readable from any thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.testing.fake_llm.request import ChatRequest

_KEPT_REQUESTS = 1_000


class Stats:
    """The number of calls that came and of those being answered; the latest requests are kept to look at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = self._in_flight = self._max_in_flight = self._texts = self._limited = self._hung_up = 0
        self._batches = self._lines = 0
        self._latest: deque[ChatRequest] = deque(maxlen=_KEPT_REQUESTS)

    @contextmanager
    def call(self, request: ChatRequest) -> Iterator[None]:
        """Count one call for the time of the `with` block."""
        with self._lock:
            self._requests += 1
            self._in_flight += 1
            self._max_in_flight = max(self._max_in_flight, self._in_flight)
            self._latest.append(request)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def limited(self) -> None:
        """Count a call that went over a limit and was refused."""
        with self._lock:
            self._limited += 1

    def hung_up(self) -> None:
        """Count a call whose caller broke the connection off before it was answered."""
        with self._lock:
            self._hung_up += 1

    def embedded(self, texts: int) -> None:
        """Count texts that were sent for their embeddings."""
        with self._lock:
            self._texts += texts

    def batch_begun(self) -> None:
        """Count a request to make a batch."""
        with self._lock:
            self._batches += 1

    def batched(self, request: ChatRequest) -> None:
        """Count a line of a batch that was answered."""
        with self._lock:
            self._lines += 1
            self._latest.append(request)

    def snapshot(self) -> dict[str, int]:
        """`requests`, `in_flight`, `max_in_flight`, `rate_limited` (refused) and `hung_up` (by the caller) chats,
        `texts` embedded, `batches` asked for, and `lines` of batches answered.
        """
        with self._lock:
            return {
                "requests": self._requests,
                "in_flight": self._in_flight,
                "max_in_flight": self._max_in_flight,
                "rate_limited": self._limited,
                "hung_up": self._hung_up,
                "texts": self._texts,
                "batches": self._batches,
                "lines": self._lines,
            }

    def latest(self) -> list[ChatRequest]:
        """The latest requests, oldest first."""
        with self._lock:
            return list(self._latest)
