"""One request of a webhook: to an address that was checked, without redirects, and within a time."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpcore2

from turnwise.base.clock import SYSTEM_CLOCK
from turnwise.base.json_bounds import storable
from turnwise.base.retry_after import seconds_asked
from turnwise.errors import InvalidWebhookError
from turnwise.observability.redaction import redact
from turnwise.record.webhooks.records import Attempted
from turnwise.serving.webhooks.addresses import AddressRules

# Bytes of an answer that are read, and characters of it that are kept.
_MOST_READ = 4_096
_MOST_KEPT = 1_000
_LONGEST_WAIT = 3_600.0


class WebhookSender(Protocol):
    """Sends a request to a receiver, and tells what became of it; raises nothing that the receiver can cause."""

    def __call__(self, url: str, headers: Mapping[str, str], body: str) -> Attempted:
        """Send it once."""
        ...


class HttpSender:
    """Sends over HTTP/1.1, each request on a connection of its own; proxies of the environment are not used.

    All of it takes at most `timeout` seconds, but for the resolver, which has its own time.
    """

    def __init__(self, rules: AddressRules, timeout: float, tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        self._rules = rules
        self._timeout = timeout
        self._tls = tls or _trusted

    def __call__(self, url: str, headers: Mapping[str, str], body: str) -> Attempted:
        """Send it once."""
        try:
            self._rules.check_form(url)
            return self._send(url, {"Host": urlsplit(url).netloc, **headers}, body)
        except InvalidWebhookError as error:
            return Attempted(delivered=False, error=_short(str(error)))
        except httpcore2.TimeoutException:
            return Attempted(delivered=False, error=f"no answer within {self._timeout:g} s")
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            return Attempted(delivered=False, error=_short(f"{type(error).__name__}: {error}"))

    def _send(self, url: str, headers: Mapping[str, str], body: str) -> Attempted:
        backend = _CheckedBackend(self._rules, SYSTEM_CLOCK.monotonic() + self._timeout)
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        with (
            httpcore2.ConnectionPool(self._tls(), max_connections=1, network_backend=backend) as pool,
            pool.stream(
                "POST", url, headers=list(headers.items()), content=body.encode(), extensions={"timeout": timeouts}
            ) as response,
        ):
            return _judged(response, _beginning(response.iter_stream()))


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


def _beginning(pieces: Iterable[bytes]) -> str:
    """The beginning of an answer; its status counts, even if the rest does not come."""
    found = b""
    try:
        for piece in pieces:
            found += piece
            if len(found) >= _MOST_READ:
                break
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
        pass
    return _short(found.decode(errors="replace"))


def _judged(response: Any, text: str) -> Attempted:
    status = int(response.status)
    if 200 <= status < 300:
        return Attempted(delivered=True, status_code=status, response=text)
    error = f"it answered {status}"
    if 300 <= status < 400:
        error += "; redirects are not followed: use the URL that it points to"
    return Attempted(
        delivered=False,
        status_code=status,
        response=text,
        error=error,
        gone=status == 410,
        retry_after=_retry_after(response.headers),
    )


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """The seconds that a receiver asks for."""
    found = {name.lower(): value.decode("latin-1").strip() for name, value in headers}
    return seconds_asked(found.get(b"retry-after", ""), found.get(b"date", ""), _LONGEST_WAIT)


def _short(text: str) -> str:
    return redact(storable(text))[:_MOST_KEPT]


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects to an address of a host that was checked a moment before, so none that was not can be reached."""

    def __init__(self, rules: AddressRules, deadline: float) -> None:
        self._rules = rules
        self._deadline = deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers."""
        addresses = self._rules.addresses(host, port)
        for no, address in enumerate(addresses, 1):
            try:
                left = _left(self._deadline, httpcore2.ConnectTimeout)
                stream = self._sockets.connect_tcp(address, port, left, local_address, socket_options)
                return _TimedStream(stream, self._deadline)
            except httpcore2.ConnectError:
                if no == len(addresses):
                    raise
        raise httpcore2.ConnectError("no address")  # not reached: a host without one is refused


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose every step ends with the deadline of the whole, however slowly the receiver sends."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come."""
        return self._stream.read(max_bytes, _left(self._deadline, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        self._stream.write(buffer, _left(self._deadline, httpcore2.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Encrypt from here on; the certificate has to be that of the URL's host."""
        left = _left(self._deadline, httpcore2.ConnectTimeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """As the connection has it."""
        return self._stream.get_extra_info(info)


def _left(deadline: float, over: type[httpcore2.TimeoutException]) -> float:
    left = deadline - SYSTEM_CLOCK.monotonic()
    if left <= 0:
        raise over("the time of the request is over")
    return left
