"""A reverse proxy that serves a gateway below a path, as an Ingress does: it takes the path off, or it leaves it."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class PathProxy:
    """Passes what comes below `path` to the server at `target`, from `with` to its end; 404 for the rest."""

    def __init__(self, target: str, path: str, *, strips: bool) -> None:
        self.target = urlsplit(target)
        self.path, self.strips = path, strips
        proxy = self

        class Handler(_Handler):
            settings = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = self.origin + path

    def __enter__(self) -> PathProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    settings: PathProxy

    def _pass_on(self) -> None:
        proxy = self.settings
        if not (self.path + "/").startswith(proxy.path + "/"):
            return self.send_error(404, "not below the path")
        there = self.path.removeprefix(proxy.path) or "/" if proxy.strips else self.path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(proxy.target.hostname or "", proxy.target.port, timeout=30)
        try:
            connection.request(self.command, there, body, dict(self.headers))
            answer = connection.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            while data := answer.read1(65_536):  # as it comes: event streams are not held back
                self.wfile.write(data)
                self.wfile.flush()
        finally:
            connection.close()

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = _pass_on

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
