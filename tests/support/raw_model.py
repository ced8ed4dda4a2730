"""A model server that sends whatever a test says, byte for byte, and cares for no rule of the API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RawAnswer:
    """A status, headers and the pieces of a body; without a length the connection is closed at the end.

    Pieces that are made while they are sent, as by a generator, have no length.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    pieces: Iterable[bytes] = ()
    with_length: bool = True


def completion(message: dict[str, Any], usage: Any = None, **more: Any) -> RawAnswer:
    """A chat completion with that message and usage."""
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "model": "raw", "usage": usage} | more
    return RawAnswer(pieces=(json.dumps(body).encode(),))


Answering = Callable[[dict[str, Any]], RawAnswer]


@contextmanager
def raw_model(answer: Answering, requests: list[tuple[str, dict[str, str]]] | None = None) -> Iterator[str]:
    """The base URL of a server whose every answer is made by `answer` of the request's body.

    `requests` is given the path and the headers, with lower-case names, of each request.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if requests is not None:
                requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            given = answer(asked)
            try:
                self._send(given)
            except OSError:
                self.close_connection = True  # whoever asked has had enough

        def _send(self, given: RawAnswer) -> None:
            self.send_response_only(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            if given.with_length:
                self.send_header("content-length", str(sum(map(len, given.pieces))))
            else:
                self.send_header("connection", "close")
                self.close_connection = True
            self.end_headers()
            for piece in given.pieces:
                self.wfile.write(piece)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="raw-model")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
