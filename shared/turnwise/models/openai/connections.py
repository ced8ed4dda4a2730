"""Clients of the OpenAI library, shared by all models of a process.

Blocking calls have a client each, see `openai_lines`. An asynchronous client owns a pool of connections, so each server
and key has few of them: one per crowd of calls (a pool's bookkeeping grows with the square of the calls in flight), for
each event loop, to which their sockets are bound.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import openai

from turnwise.base.tls import process_tls
from turnwise.errors import ConfigurationError
from turnwise.models.openai.blocking_clients import KEPT_SECONDS, ClientLine, Lines
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.environment import fit_environment
from turnwise.models.openai.hints import missing_key_hint
from turnwise.observability.redaction import hide

_CROWD = 32  # calls in flight on one client before another is made
_SECRET_HEADER = re.compile("(?i)auth|key|token|secret|cookie")
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=_CROWD, keepalive_expiry=KEPT_SECONDS)


class _Crowd:
    """The clients of one server and key, with the number of calls on each."""

    def __init__(self, make: Callable[[], openai.AsyncOpenAI]) -> None:
        self._make: Callable[[], openai.AsyncOpenAI] = make
        self._lock = threading.Lock()
        self._clients: list[tuple[openai.AsyncOpenAI, list[None]]] = []

    @contextmanager
    def lease(self) -> Iterator[openai.AsyncOpenAI]:
        """A client with room for one more call, for the time of the `with` block."""
        with self._lock:
            # The first with room, not the least busy: what is idle can let its connections expire.
            found = next((entry for entry in self._clients if len(entry[1]) < _CROWD), None)
            if found is None:
                found = (self._make(), [])
                self._clients.append(found)
            client, calls = found
            calls.append(None)
        try:
            yield client
        finally:
            with self._lock:
                calls.pop()

    def clients(self) -> list[openai.AsyncOpenAI]:
        with self._lock:
            return [client for client, _ in self._clients]


class ProviderConnections:
    """Hands out clients; one instance serves a process, across threads, event loops and forks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sync: dict[Hashable, Lines] = {}
        self._loops: dict[asyncio.AbstractEventLoop, _LoopClients] = {}

    @contextmanager
    def client(self, config: OpenAIGPTConfig) -> Iterator[openai.OpenAI]:
        """A client for one blocking call, whose connection the current `Cancellation` breaks.

        Raises `ConfigurationError` without a key.
        """
        if (own := config.own_client(awaited=False)) is not None:
            yield own
            return
        options = _options(config)
        with self._lock:
            lines = self._sync.setdefault(_key(options), Lines(lambda: ClientLine(options)))
        with lines.lend() as client:
            yield client

    @asynccontextmanager
    async def async_client(self, config: OpenAIGPTConfig) -> AsyncIterator[openai.AsyncOpenAI]:
        """A client for one call in the running event loop; it is closed with the loop."""
        if (own := config.own_client(awaited=True)) is not None:
            yield own
            return
        options, loop = _options(config), asyncio.get_running_loop()
        clients = self._loops.get(loop)
        if clients is None:
            clients = self._loops[loop] = _LoopClients(lambda: self._loops.pop(loop, None))
            await clients.start()
        with clients.crowd(options).lease() as client:
            yield client

    def close(self) -> None:
        """Close the blocking clients; later calls make new ones."""
        with self._lock:
            lines, self._sync = list(self._sync.values()), {}
        for of_one_server in lines:
            of_one_server.close()


class _LoopClients:
    """The clients of one event loop.

    Nothing tells a library that a loop ends, except that `asyncio.run` (and any runner that calls
    `shutdown_asyncgens`) finishes the asynchronous generators left open: one of them closes the clients.
    """

    def __init__(self, forget: Callable[[], object]) -> None:
        self._forget = forget
        self._crowds: dict[Hashable, _Crowd] = {}
        self._lifetime = self._live()

    async def start(self) -> None:
        await anext(self._lifetime)

    def crowd(self, options: dict[str, Any]) -> _Crowd:
        return self._crowds.setdefault(_key(options), _Crowd(lambda: _async_client(options)))

    async def _live(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._forget()
            for crowd in self._crowds.values():
                for client in crowd.clients():
                    await client.close()


def client_over(transport: httpx2.BaseTransport, config: OpenAIGPTConfig) -> openai.OpenAI:
    """A client of these settings whose requests go over `transport`, as in a simulation."""
    return openai.OpenAI(**_options(config), http_client=httpx2.Client(transport=transport))


def _options(config: OpenAIGPTConfig) -> dict[str, Any]:
    base_url = config.base_url
    key = config.key
    if not key:
        if config.needs_key:
            raise ConfigurationError(
                f"no API key for model {config.chat_model} at {base_url}: {missing_key_hint(config)}"
            )
        key = "local"  # a server that its user runs; the client library insists on some key
    hide(key)
    _check_header("the API key", key, config)
    for name, value in config.request_headers.items():
        if _SECRET_HEADER.search(name):
            hide(value)
        _check_header("the name of a header", name, config)
        _check_header(f"the header {name!r}", value, config)
    _check_header("the organization", config.organization or "", config)
    return {
        "api_key": key,
        "base_url": base_url,
        "organization": config.organization,
        "default_headers": config.request_headers or None,
        "timeout": httpx2.Timeout(config.timeout, connect=min(10.0, config.timeout)),
        "max_retries": 0,  # whoever runs the call retries it, and keeps a record
    }


def _check_header(what: str, value: str, config: OpenAIGPTConfig) -> None:
    """Raise `ConfigurationError` for a value that no request can have, without telling it."""
    at = next((i for i, character in enumerate(value) if not _fits_a_header(character)), None)
    if at is not None:
        raise ConfigurationError(
            f"{what} for model {config.chat_model} has a character that no HTTP header takes, {value[at]!a} at "
            f"position {at + 1} of {len(value)}; correct it"
        )


def _fits_a_header(character: str) -> bool:
    return character == "\t" or (character.isascii() and character.isprintable())


def _key(options: dict[str, Any]) -> Hashable:
    headers = tuple(sorted((options["default_headers"] or {}).items()))
    plain = (options["api_key"], options["base_url"], options["organization"], options["timeout"].read)
    return (os.getpid(), headers, *plain)  # a forked child must not speak on its parent's sockets


def _async_client(options: dict[str, Any]) -> openai.AsyncOpenAI:
    with fit_environment():
        http = openai.DefaultAsyncHttpxClient(limits=_LIMITS, verify=process_tls())
    return openai.AsyncOpenAI(**options, http_client=http)


# Connections, not clients: made on demand, keyed by process, and nothing that a test would have to patch.
process_connections = ProviderConnections()
atexit.register(process_connections.close)
