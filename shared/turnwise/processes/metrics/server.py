"""Metrics and probes over HTTP, for a process that has no other port."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from turnwise.base.listening import listen

logger = logging.getLogger(__name__)

Health = Callable[[], tuple[bool, str]]


class MetricsServer:
    """A running server; `port` is the one it got, which matters when 0 was asked for."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="turnwise-metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The TCP port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def __init__(self, listener: socket.socket, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what a thread met, which the standard library writes to the standard error as it is."""
        if not isinstance(sys.exception(), ConnectionError):  # who asked has gone, as a scrape that took too long does
            logger.exception("A request for metrics failed", extra={"action": "metrics_failed"})


def _always() -> tuple[bool, str]:
    return True, "ok"


def serve_metrics(
    registry: CollectorRegistry, host: str, port: int, health: Health, alive: Health = _always
) -> MetricsServer:
    """Serve `/metrics`, `/health/live` and `/health/ready` on threads, until `close`.

    `health` says whether the process can work, and why not; it is called for each look at `/health/ready`. `alive` says
    the same for `/health/live`: where it says no, a restart would help. Raises
    `AddressInUseError` for a busy port and `ConfigurationError` for an address that is not this machine's.
    """

    class MetricsHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, accept = self.path.partition("?")[0], self.headers.get("Accept", "")
            status, kind, body = _page(registry, {"live": alive, "ready": health}, path, accept)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: probes come every few seconds."""

    return MetricsServer(_Server(listen(host, port, "TURNWISE_METRICS_BIND"), MetricsHandler))


def exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return what Prometheus scrapes, and its media type: one that the header `Accept` asks for, or the plain one."""
    try:
        encode, kind = choose_encoder(accept)
    except TypeError:  # it asks for a version that is no number
        encode, kind = choose_encoder("")
    return encode(registry), kind


def _page(registry: CollectorRegistry, probes: Mapping[str, Health], path: str, accept: str) -> tuple[int, str, bytes]:
    text = "text/plain; charset=utf-8"
    if path == "/metrics":
        body, kind = exposition(registry, accept)
        return 200, kind, body
    probe = probes.get(path.removeprefix("/health/"))
    if probe is not None and path.startswith("/health/"):
        well, why = probe()
        return (200 if well else 503), text, f"{why}\n".encode()
    return 404, text, b"here are /metrics, /health/live and /health/ready\n"
