"""Examples as their reader runs them: their application served, their programs as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise import App
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

_EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def served(app: App, folder: Path, **settings: object) -> Iterator[Client]:
    """The application on a server of this process, which keeps its runs in the folder."""
    database = f"sqlite:///{folder / 'runs.db'}"
    with (
        EmbeddedServer(load_settings(database_url=database, bind="127.0.0.1:0", **settings), app) as server,
        Client(server.url) as client,
    ):
        yield client


def started(path: str, *arguments: str, url: str = "") -> subprocess.Popen[str]:
    """A program of an example, in its folder; `url` is the server's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNWISE_", "OPENAI_"))}
    return subprocess.Popen(
        [sys.executable, _EXAMPLES / path, *arguments],
        cwd=(_EXAMPLES / path).parent,
        env=kept | {"TURNWISE_URL": url, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str], said: str = "") -> str:
    """Standard output of a program that reads what is said, and then ends by itself."""
    out, err = process.communicate(said, timeout=100)
    assert (process.returncode, err) == (0, "")
    return out
