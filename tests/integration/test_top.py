"""`turnwise top` against a real server: on a terminal with keys, and as one frame or JSON without one."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from examples import two_agents
from tests.e2e.processes import environment
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal
from tests.support.store_parts import asked_run

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store

__all__ = ["terminal"]

# The queue of another tenant's ask.
ELSEWHERE = "elsewhere"


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """`two_agents`, with a run that waits for an answer, one that has ended, and one of another tenant.

    The last test stops it.
    """
    folder = tmp_path_factory.mktemp("travel")
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, two_agents.app) as server, Client(server.url) as client:
        client.submit("trip", "A weekend in Lyon", wait=30)
        client.submit("trip", "Nowhere", wait=30)
        with closing(Database(settings.database_url)) as database:
            asked_run(Store(database), ELSEWHERE, run={"tenant": "another"})
        yield server


class Seat:
    """`turnwise top` on a terminal of 100 by 30, and its keyboard."""

    def __init__(self, url: str) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (30, 100))
        self.settings = termios.tcgetattr(theirs)
        self._theirs = theirs
        self._process = subprocess.Popen(
            [sys.executable, "-m", "turnwise.cli.main", "top", "--interval", "0.5", "--url", url],
            env=environment() | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.set_blocking(self._ours, False)
        self._text = ""

    def press(self, keys: str) -> None:
        """Press keys; what was on the screen before is forgotten."""
        self._read()
        self._text = ""
        os.write(self._ours, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._text = ""
        self._process.send_signal(signal.SIGINT)

    def sees(self, text: str) -> None:
        """Return once that text has been written to the terminal."""
        until(lambda: text in self._read(), f"{text!r} on the terminal, which has: {self._text[-3000:]}", patience=60)

    def leave(self) -> int:
        """Return the exit code; the terminal is as it was."""
        code = self._process.wait(timeout=60)
        assert termios.tcgetattr(self._theirs) == self.settings
        return code

    def close(self) -> None:
        """Take the terminal away."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def _read(self) -> str:
        try:
            while data := os.read(self._ours, 65_536):
                self._text += data.decode(errors="replace")
        except BlockingIOError:
            pass
        return self._text


@pytest.fixture
def seat(agency: EmbeddedServer) -> Iterator[Seat]:
    made = Seat(agency.url)
    yield made
    made.close()


def test_without_a_terminal_it_prints_one_frame(terminal: Terminal, agency: EmbeddedServer) -> None:
    said = terminal.run("top", "--show", "all", "--url", agency.url)

    assert "0 running  1 waiting  0 queued  inbox 1" in said
    assert "2 runs: all, newest first" in said
    assert "a human, asked by Planner" in said
    assert "quit" not in said
    assert "\x1b" not in said


def test_scripts_get_json(terminal: Terminal, agency: EmbeddedServer) -> None:
    seen = json.loads(terminal.run("top", "--json", "--url", agency.url))

    assert [run["status"] for run in seen["runs"]] == ["waiting"]
    assert {queue["queue"] for queue in seen["queues"]} == {"llm", "agent"}
    assert seen["counts"] == {"running": "0", "waiting": "1", "queued": "0"}
    assert seen["questions"] == 1


def test_operators_see_the_queues_and_the_spend_of_all_tenants(terminal: Terminal, agency: EmbeddedServer) -> None:
    seen = json.loads(terminal.run("top", "--json", "--fleet", "--url", agency.url))

    assert {queue["queue"] for queue in seen["queues"]} == {"llm", "agent", ELSEWHERE}
    assert [one["name"] for one in seen["spenders"]] == ["default"]
    own = json.loads(terminal.run("top", "--json", "--url", agency.url))
    assert [one["name"] for one in own["spenders"]] == ["trip"]
    said = terminal.run("top", "--fleet", "--url", agency.url)
    assert "tenant, today" in said
    assert ELSEWHERE in said


def test_a_gateway_that_does_not_answer_is_told_at_once(terminal: Terminal) -> None:
    assert "http://127.0.0.1:1" in terminal.refused("top", "--url", "http://127.0.0.1:1")
    assert "whole" in terminal.run("top", "--show", "whole", code=2)


def test_on_a_terminal_keys_choose_open_and_leave_until_the_server_is_gone(
    seat: Seat, agency: EmbeddedServer, tmp_path: Path
) -> None:
    seat.sees("1 run: unfinished, newest first")
    seat.press("s")
    seat.sees("longest first")
    seat.press("/nothing of that name")
    seat.sees("0 runs")
    seat.press("\x1b")
    seat.sees("1 run: unfinished, longest first")
    seat.press("\r")
    seat.sees("Shall I book?")
    seat.interrupt()
    seat.sees("any key returns")
    seat.press("x")
    seat.sees("1 run")

    with Client(agency.url) as client:
        (run,) = client.runs(status="waiting").items
        client.answer(run.id, "yes")
    seat.sees("0 runs: unfinished")
    seat.press("fffff")
    seat.sees("2 runs: all")

    agency.stop()
    seat.sees("No answer since")
    seat.press("q")
    assert seat.leave() == 0
