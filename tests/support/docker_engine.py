"""As much of a Docker engine as docker-compose 1.29 asks before it makes containers; it has no image at first.

`built` and `pulled` have the tags in the order in which compose asked for them. Containers are refused: what is looked
at is the step before them, and there is no engine behind this.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_VERSION = {"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10.0", "Os": "linux", "Arch": "amd64"}
REFUSED = "this engine makes no containers"


class DockerEngine:
    """A server on loopback, from `with` to its end."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.pulled: list[str] = []
        engine = self

        class Handler(_Handler):
            docker = engine

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.address = f"tcp://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> DockerEngine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def has(self, image: str) -> bool:
        """Return whether the image was built or pulled."""
        return image in self.built + self.pulled


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    docker: DockerEngine

    def do_GET(self) -> None:
        path = self._path()
        if path.startswith("images/"):
            image = path.removeprefix("images/").removesuffix("/json")
            if self.docker.has(image):
                return self._answer(200, {"Id": "sha256:" + "0" * 64, "RepoTags": [image], "ContainerConfig": {}})
            return self._answer(404, {"message": f"No such image: {image}"})
        known: dict[str, Any] = {"version": _VERSION, "info": {}, "containers/json": [], "volumes": {"Volumes": []}}
        if path in known:
            return self._answer(200, known[path])
        return self._answer(404, {"message": f"no such thing: {path}"})

    def do_POST(self) -> None:
        path, query = self._path(), parse_qs(urlsplit(self.path).query)
        self._read()
        if path == "build":
            self.docker.built += query["t"]
            return self._answer(200, {"stream": "Successfully built 000000000000\n"})
        if path == "images/create":
            self.docker.pulled.append(f"{query['fromImage'][0]}:{query['tag'][0]}")
            return self._answer(200, {"status": "done"})
        if path in ("networks/create", "volumes/create"):
            return self._answer(201, {"Id": "0", "Name": "made", "Driver": "local"})
        return self._answer(500, {"message": REFUSED})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _path(self) -> str:
        """The path without the API's version."""
        parts = unquote(urlsplit(self.path).path).strip("/").split("/", 1)
        return parts[1] if parts[0].startswith("v1.") and len(parts) > 1 else "/".join(parts)

    def _read(self) -> None:
        """Take the body; a build's context comes in chunks."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                self.rfile.read(size + 2)
            self.rfile.readline()
        else:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, found: Any) -> None:
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
