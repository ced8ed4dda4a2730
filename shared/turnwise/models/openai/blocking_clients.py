"""Blocking clients, each with one connection of its own that another thread can cut.

A thread that waits for an answer can only be woken by its socket. Which of a pool's connections a call is on, the
HTTP library does not tell; so each call has a client for itself, which is lent to the next one after it. Measured,
that costs as much as a shared pool for 16 calls at a time, and a tenth less for 100.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import openai

from turnwise.base.cancellation import current_cancellation
from turnwise.base.tls import process_tls
from turnwise.models.openai.environment import fit_environment

# Seconds after which a connection that no one used is given up.
KEPT_SECONDS = 30.0
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=1, keepalive_expiry=KEPT_SECONDS)


class ClientLine:
    """A client and the connection it is speaking on."""

    def __init__(self, options: dict[str, Any]) -> None:
        with fit_environment():
            http = openai.DefaultHttpxClient(
                limits=_LIMITS,
                verify=process_tls(),
                event_hooks={"request": [self._follow]},
                timeout=options["timeout"],
            )
        self.client = openai.OpenAI(**options, http_client=http)
        self.used = time.monotonic()
        self.was_cut = False
        self._stream: Any = None

    def cut(self) -> None:
        """Break the connection off, so that whoever waits on it is woken; called from any thread."""
        self.was_cut = True
        self._break()

    def close(self) -> None:
        """Give the connection back; only for a line that no one uses."""
        self.client.close()

    def _follow(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        # A connection that is kept is still the last one that was made.
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]
            if self.was_cut:
                self._break()

    def _break(self) -> None:
        connection = self._stream.get_extra_info("socket") if self._stream is not None else None
        if connection is None:
            return
        try:
            # Of the plain socket, also under TLS: its own `shutdown` would first take the TLS off.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        except OSError:
            return  # it was closed already


class Lines:
    """The lines to one server with one key."""

    def __init__(self, make: Callable[[], ClientLine]) -> None:
        self._make = make
        self._lock = threading.Lock()
        # Those used last are at the right.
        self._idle: deque[ClientLine] = deque()

    @contextmanager
    def lend(self) -> Iterator[openai.OpenAI]:
        """A client for one call; the current `Cancellation` breaks its connection."""
        line = self._take()
        current = current_cancellation()
        try:
            if current is None:
                yield line.client
            else:
                with current.on_cancel(line.cut):
                    yield line.client
        finally:
            self._release(line)

    def close(self) -> None:
        """Close the lines that no one uses now."""
        with self._lock:
            idle, self._idle = list(self._idle), deque()
        for line in idle:
            line.close()

    def _take(self) -> ClientLine:
        with self._lock:
            line = self._idle.pop() if self._idle else None
        return line if line is not None else self._make()

    def _release(self, line: ClientLine) -> None:
        if line.was_cut:
            line.close()
            return
        line.used = now = time.monotonic()
        old: ClientLine | None = None
        with self._lock:
            self._idle.append(line)
            # One at a time is enough: each call that ends gives one up.
            if now - self._idle[0].used > KEPT_SECONDS:
                old = self._idle.popleft()
        if old is not None:
            old.close()
