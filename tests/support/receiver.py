"""A receiver of webhooks over real HTTP, which checks signatures with the library that its guide names."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook


@dataclass(frozen=True, kw_only=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> dict[str, Any]:
        """The message; raises `WebhookVerificationError`."""
        found: dict[str, Any] = Webhook(secret).verify(self.body, dict(self.headers))
        return found


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer to a request; `drip` sends its body a byte at a time, as long as the event is not set."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    drip: threading.Event | None = None


class WebhookReceiver:
    """Keeps what it is sent, from `with` to its end, and answers as `answer` says."""

    def __init__(self, answer: Callable[[Received], Reply] = lambda _: Reply(), tls: ssl.SSLContext | None = None):
        self.received: list[Received] = []
        self.answer = answer
        self._came = threading.Condition()
        receiver = self

        class Handler(_ReceivingHandler):
            owner = receiver

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.port = self._server.server_port
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/hook"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: Received) -> Reply:
        with self._came:
            self.received.append(request)
            self._came.notify_all()
        return self.answer(request)

    def wait(self, n: int, seconds: float = 20.0) -> list[Received]:
        """The requests, once there are `n`."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.received) >= n, seconds), f"{len(self.received)} of {n} came"
            return list(self.received)


class _ReceivingHandler(BaseHTTPRequestHandler):
    owner: WebhookReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.owner.take(Received(path=self.path, headers=headers, body=body))
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(1_000 if reply.drip is not None else len(reply.body)))
        with suppress(ConnectionError):  # whoever sent it need not wait for all of the answer
            self.end_headers()
            self.wfile.write(reply.body)
            if reply.drip is not None:
                while not reply.drip.wait(0.05):
                    self.wfile.write(b".")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
