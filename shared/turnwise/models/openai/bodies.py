"""Tell a stream of events from a whole completion by the first bytes of an answer.

Its content type is a word only: some servers send their streams as `application/json`, and others a whole completion as
`text/plain` or without a type. A body that was looked into is handed on as an answer of its own, with all of its bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx2

# With a byte order mark, which may be before JSON.
_BLANK = b"\xef\xbb\xbf \t\r\n"


def is_event_stream(http: httpx2.Response) -> bool:
    """Return whether an answer says that it is a stream of events."""
    return http.headers.get("content-type", "").lower().startswith("text/event-stream")


def looked_into(http: httpx2.Response) -> tuple[httpx2.Response, bool]:
    """Return the answer, and whether its body begins as a JSON object does, which no event of a stream does."""
    if is_event_stream(http):
        return http, False
    first, rest = b"", http.iter_bytes()
    for piece in rest:
        first += piece
        if first.lstrip(_BLANK):
            break
    return _handed_on(http, _Body(http, first, rest)), _is_object(first)


async def looked_into_async(http: httpx2.Response) -> tuple[httpx2.Response, bool]:
    """The same as `looked_into`, without blocking the event loop."""
    if is_event_stream(http):
        return http, False
    first, rest = b"", http.aiter_bytes()
    async for piece in rest:
        first += piece
        if first.lstrip(_BLANK):
            break
    return _handed_on(http, _AsyncBody(http, first, rest)), _is_object(first)


class _Body(httpx2.SyncByteStream):
    """The bytes that were looked at, and then the others."""

    def __init__(self, http: httpx2.Response, first: bytes, rest: Iterator[bytes]) -> None:
        self._http, self._first, self._rest = http, first, rest

    def __iter__(self) -> Iterator[bytes]:
        yield self._first
        yield from self._rest

    def close(self) -> None:
        self._http.close()


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, http: httpx2.Response, first: bytes, rest: AsyncIterator[bytes]) -> None:
        self._http, self._first, self._rest = http, first, rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        async for piece in self._rest:
            yield piece

    async def aclose(self) -> None:
        await self._http.aclose()


def _handed_on(http: httpx2.Response, body: _Body | _AsyncBody) -> httpx2.Response:
    headers = http.headers.copy()
    headers.pop("content-encoding", None)  # the bytes are decoded already
    return httpx2.Response(http.status_code, headers=headers, stream=body, request=http.request)


def _is_object(first: bytes) -> bool:
    return first.lstrip(_BLANK).startswith(b"{")
