"""Carrying requests over connections of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

import httpx2

from turnwise.api.events import StreamItem
from turnwise.api.pages import Page
from turnwise.client.errors import error_of
from turnwise.client.event_reading import PASSING, EventReading
from turnwise.client.exchange import Exchange
from turnwise.client.operations.runs import run
from turnwise.client.request import Request
from turnwise.client.signatures import answer, as_method_of, item

T = TypeVar("T")
P = ParamSpec("P")


class Awaited:
    """Sends requests over the connections of `http`, each again at most `retries` times."""

    def __init__(self, base_url: str, http: httpx2.AsyncClient, retries: int) -> None:
        self.base_url = base_url
        self._http = http
        self._retries = retries

    async def send(self, request: Request[T]) -> T:
        """Send a request and return what the answer says."""
        exchange = Exchange(request, self.base_url, self._retries)
        while True:
            pause: float | None
            try:
                response = await self._http.request(**exchange.arguments)
            except httpx2.TransportError as error:
                pause = exchange.after_failure(error)
            else:
                pause = exchange.after_answer(response)
                if pause is None:
                    return exchange.result(response)
            await asyncio.sleep(pause)

    async def items_of(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        """Return the items of a list, page by page as they are read."""
        while True:
            page = await self.send(request)
            for one in page.items:
                yield one
            if page.next_cursor is None:
                return
            request = request.following(page.next_cursor)

    async def read(self, reading: EventReading) -> AsyncIterator[StreamItem]:
        """Return the events, over as many connections as it takes."""
        while True:
            try:
                async with self._http.stream(**reading.arguments) as response:
                    if response.is_error:
                        await response.aread()
                        raise error_of(response)
                    reading.connected(response)
                    async for sent in httpx2.EventSource(response, max_event_size=None):
                        event = reading.take(sent.data)
                        yield event
                        # A run that was retried has events behind the one that was its last.
                        if reading.may_be_last(event) and reading.is_over(await self.send(run(reading.run_id))):
                            return
                # Closed without the last event: the gateway is stopping, or there is none after the number given.
                if reading.is_over(await self.send(run(reading.run_id))):
                    return
                pause = reading.next_pause()
            except PASSING as error:
                pause = reading.after_failure(error, self.base_url)
            await asyncio.sleep(pause)


def carried(operation: Callable[P, Request[T]]) -> Callable[Concatenate[Awaited, P], Awaitable[T]]:
    """Make a method that sends the operation's request."""

    @as_method_of(operation, lambda returned: f"Awaitable[{answer(returned)}]")
    def method(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self.send(operation(*args, **kwargs))

    return method


def paged(operation: Callable[P, Request[Page[T]]]) -> Callable[Concatenate[Awaited, P], AsyncIterator[T]]:
    """Make a method that returns the items of all pages from the operation's on."""

    @as_method_of(operation, lambda returned: f"AsyncIterator[{item(returned)}]")
    def method(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.items_of(operation(*args, **kwargs))

    return method


def streamed(operation: Callable[P, EventReading]) -> Callable[Concatenate[Awaited, P], AsyncIterator[StreamItem]]:
    """Make a method that returns the events that the operation reads."""

    @as_method_of(operation, lambda _returned: "AsyncIterator[StreamItem]")
    def method(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[StreamItem]:
        return self.read(operation(*args, **kwargs))

    return method
