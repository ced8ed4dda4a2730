"""Commands speak with a gateway by `turnwise.client` alone, and repeat what was not answered."""

from __future__ import annotations

import ast
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.cli import Terminal, terminal

__all__ = ["terminal"]

COMMANDS = Path(__file__).parents[3] / "shared/turnwise/cli"
HTTP = {"httpx", "httpx2", "requests", "urllib", "http", "aiohttp"}
# The doctor looks at the addresses of others: an issuer of tokens, a provider of models, whatever holds a port. The
# shell's completion has no time to load a client.
EXCEPTIONS = {*(COMMANDS / "doctor").glob("*.py"), COMMANDS / "completion.py"}


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_no_command_has_requests_of_its_own() -> None:
    files = set(COMMANDS.rglob("*.py")) - EXCEPTIONS

    assert len(files) > 40
    assert {file.name: imported(file) & HTTP for file in files if imported(file) & HTTP} == {}


class Interrupted(BaseHTTPRequestHandler):
    """Answers the first request with 503, and each one then with 409."""

    keys: list[str | None]

    def do_POST(self) -> None:
        self.keys.append(self.headers.get("Idempotency-Key"))
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(503 if len(self.keys) == 1 else 409)

    def _answer(self, status: int) -> None:
        body = json.dumps({"code": "away", "detail": f"it was {status}"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def interrupted() -> Iterator[str]:
    Interrupted.keys = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Interrupted) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_command_sends_a_submission_again_under_the_same_key(terminal: Terminal, interrupted: str) -> None:
    assert terminal.refused("submit", "desk", "hello", "--url", interrupted) == "it was 409"

    first, second = Interrupted.keys
    assert first == second is not None
