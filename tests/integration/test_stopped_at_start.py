"""Servers in one process that are told to stop before they serve."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DESK = """
import os, signal
from turnwise import App, ChatAgent, ChatAgentConfig, Task

app = App("desk", version="1")

@app.task
def desk() -> Task:
    return Task(ChatAgent(ChatAgentConfig(name="desk")))
"""
TOLD_AT_ONCE = "os.kill(os.getpid(), signal.SIGTERM)\nraise AssertionError('it goes on')\n"
# Late in the start, and in the thread that starts it.
TOLD_WHILE_OPENING = """
from turnwise.cli import embedded

take_over, stop = embedded.take_over, embedded.EmbeddedServer.stop

def told(*arguments):
    os.kill(os.getpid(), signal.SIGTERM)
    take_over(*arguments)

def stopped(server):
    stop(server)
    print("all is closed", file=open("closed", "w"))

embedded.take_over, embedded.EmbeddedServer.stop = told, stopped
"""
COMMANDS = {
    "up": ["up", "--bind", "127.0.0.1:0"],
    "mcp": ["mcp", "--database", "sqlite:///turnwise.db"],
    "mcp over HTTP": ["mcp", "--database", "sqlite:///turnwise.db", "--bind", "127.0.0.1:0"],
}


def ended(folder: Path, command: list[str], told: str) -> subprocess.CompletedProcess[str]:
    (folder / "told_desk.py").write_text(DESK + told)
    # Its standard input stays open, as a client's.
    reading, writing = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, "-m", "turnwise.cli.main", *command, "--app", "told_desk:app"],
            cwd=folder,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_server_that_is_told_to_stop_while_it_loads_its_application_ends_with_0(
    tmp_path: Path, command: list[str]
) -> None:
    done = ended(tmp_path, command, TOLD_AT_ONCE)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_server_that_is_told_to_stop_while_it_starts_closes_what_it_opened(
    tmp_path: Path, command: list[str]
) -> None:
    done = ended(tmp_path, command, TOLD_WHILE_OPENING)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "closed").read_text() == "all is closed\n"
