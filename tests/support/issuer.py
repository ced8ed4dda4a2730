"""An OpenID Connect issuer of the tests' own, over real HTTP: its description, its keys, and tokens."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

DESCRIPTION, KEYS = "/.well-known/openid-configuration", "/keys"


class Issuer:
    """Signs tokens with keys by name; `published` are those that it tells, `asked` what it was asked how often.

    `answers` are bodies that it sends in place of its documents, by their paths.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: Counter[str] = Counter()
        self.published: list[str] = ["one"]
        self.answers: dict[str, bytes] = {}
        self._keys: dict[str, ec.EllipticCurvePrivateKey] = {}

    def key(self, name: str) -> ec.EllipticCurvePrivateKey:
        """The key of that name, made when it is first asked for."""
        return self._keys.setdefault(name, ec.generate_private_key(ec.SECP256R1()))

    def token(self, *, key: str = "one", signed_with: str | None = None, **claims: Any) -> str:
        """A good token for `turnwise`, with other claims; None leaves one out."""
        now = int(time.time())
        given = {"iss": self.url, "aud": "turnwise", "sub": "ann", "iat": now, "exp": now + 60, "tenant": "acme-1"}
        given |= {"scope": "openid runs:read runs:write"} | claims
        present = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(present, self.key(signed_with or key), algorithm="ES256", headers={"kid": key})

    def answer(self, path: str) -> bytes | None:
        """Return the body of its answer; None: there is nothing."""
        self.asked[path] += 1
        document = self._document(path)
        return self.answers.get(path, None if document is None else json.dumps(document).encode())

    def _document(self, path: str) -> dict[str, Any] | None:
        if path == DESCRIPTION:
            return {"issuer": self.url, "jwks_uri": f"{self.url}{KEYS}"}
        if path != KEYS:
            return None
        jwks = [json.loads(ECAlgorithm.to_jwk(self.key(name).public_key())) for name in self.published]
        return {"keys": [jwk | {"kid": name, "use": "sig"} for jwk, name in zip(jwks, self.published, strict=True)]}


@contextmanager
def issuer() -> Iterator[Issuer]:
    """An issuer that answers for the time of the `with` block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = made.answer(self.path)
            self.send_response(200 if found is not None else 404)
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def signing() -> Iterator[Issuer]:
    with issuer() as made:
        yield made
