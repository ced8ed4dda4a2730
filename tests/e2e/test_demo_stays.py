"""The demo on a terminal keeps its desk open for a browser; in a script it ends by itself."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

_DEMO = [sys.executable, "-m", "turnwise.cli.main", "demo", "--limit", "1"]
_ENVIRONMENT = os.environ | {"OPENAI_API_KEY": "", "COLUMNS": "200", "TERM": "dumb"}
_PATIENCE = 60.0


@contextmanager
def on_terminal(*more: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The demo with a terminal for input and output, and the other end of that terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*_DEMO, *more], stdin=theirs, stdout=theirs, stderr=theirs, env=_ENVIRONMENT, start_new_session=True
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, wanted: str) -> str:
    """Return what the terminal shows up to `wanted`; without it, up to the end of the program."""
    shown = ""
    while wanted not in shown:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # so Linux says that the program has ended
            break
        shown += piece.decode()
    return shown


def test_on_a_terminal_the_desk_stays_open_until_ctrl_c() -> None:
    with on_terminal() as (process, terminal):
        shown = read_until(terminal, "Ctrl-C ends it")

        [console] = set(re.findall(r"http://127\.0\.0\.1:\d+/", shown))
        [run] = httpx2.get(f"{console}v1/runs").json()["items"]
        process.send_signal(signal.SIGINT)

        assert run["status"] == "completed"
        assert process.wait(_PATIENCE) == 0


def test_with_yes_it_ends_by_itself_on_a_terminal_too() -> None:
    with on_terminal("--yes") as (process, terminal):
        shown = read_until(terminal, "Ctrl-C ends it")

        assert process.wait(_PATIENCE) == 0
    assert "1 of 1" in shown
    assert "Ctrl-C ends it" not in shown


def test_in_a_script_it_ends_by_itself() -> None:
    done = subprocess.run(
        _DEMO, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_ENVIRONMENT, timeout=_PATIENCE, check=True
    )

    assert "1 of 1" in done.stdout
    assert "Ctrl-C ends it" not in done.stdout
