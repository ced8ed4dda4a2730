"""Carrying requests over connections that block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


class Blocking:
    """Sends requests over the connections of `http`, each again at most `retries` times."""

    def __init__(self, base_url: str, http: httpx2.Client, retries: int) -> None:
        self.base_url = base_url
        self._http = http
        self._retries = retries

    def send(self, request: Request[T]) -> T:
        """Send a request and return what the answer says."""
        exchange = Exchange(request, self.base_url, self._retries)
        while True:
            pause: float | None
            try:
                response = self._http.request(**exchange.arguments)
            except httpx2.TransportError as error:
                pause = exchange.after_failure(error)
            else:
                pause = exchange.after_answer(response)
                if pause is None:
                    return exchange.result(response)
            time.sleep(pause)

    def items_of(self, request: Request[Page[T]]) -> Iterator[T]:
        """Return the items of a list, page by page as they are read."""
        while True:
            page = self.send(request)
            yield from page.items
            if page.next_cursor is None:
                return
            request = request.following(page.next_cursor)

    def read(self, reading: EventReading) -> Iterator[StreamItem]:
        """Return the events, over as many connections as it takes."""
        while True:
            try:
                with self._http.stream(**reading.arguments) as response:
                    if response.is_error:
                        response.read()
                        raise error_of(response)
                    reading.connected(response)
                    for sent in httpx2.EventSource(response, max_event_size=None):
                        event = reading.take(sent.data)
                        yield event
                        # A run that was retried has events behind the one that was its last.
                        if reading.may_be_last(event) and reading.is_over(self.send(run(reading.run_id))):
                            return
                # Closed without the last event: the gateway is stopping, or there is none after the number given.
                if reading.is_over(self.send(run(reading.run_id))):
                    return
                pause = reading.next_pause()
            except PASSING as error:
                pause = reading.after_failure(error, self.base_url)
            time.sleep(pause)


def carried(operation: Callable[P, Request[T]]) -> Callable[Concatenate[Blocking, P], T]:
    """Make a method that sends the operation's request."""

    @as_method_of(operation, answer)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(operation(*args, **kwargs))

    return method


def paged(operation: Callable[P, Request[Page[T]]]) -> Callable[Concatenate[Blocking, P], Iterator[T]]:
    """Make a method that returns the items of all pages from the operation's on."""

    @as_method_of(operation, lambda returned: f"Iterator[{item(returned)}]")
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self.items_of(operation(*args, **kwargs))

    return method


def streamed(operation: Callable[P, EventReading]) -> Callable[Concatenate[Blocking, P], Iterator[StreamItem]]:
    """Make a method that returns the events that the operation reads."""

    @as_method_of(operation, lambda _returned: "Iterator[StreamItem]")
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[StreamItem]:
        return self.read(operation(*args, **kwargs))

    return method
