"""A newcomer's first view: help, quickly, with an example for every command."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.cli import Terminal, terminal

__all__ = ["terminal"]

COMMANDS = [
    "demo",
    "init",
    "up",
    "gateway",
    "coordinator",
    "worker",
    "mcp",
    "migrate",
    "fake-llm",
    "doctor",
    "purge",
    "export",
    "replay",
    "port",
    "keys",
    "tenants",
    "webhooks",
    "submit",
    "watch",
    "chat",
    "runs",
    "show",
    "answer",
    "cancel",
    "raise",
    "inbox",
    "resolve",
    "batch",
    "retry",
    "fork",
    "batches",
    "schedules",
    "workers",
    "queues",
    "top",
    "pause",
    "resume",
    "pauses",
]
HEAVY = [
    "alembic",
    "celery",
    "fastapi",
    "kombu",
    "libcst",
    "openai",
    "psycopg",
    "pydantic_settings",
    "sqlalchemy",
    "uvicorn",
]


def test_help_lists_the_commands_and_no_others(terminal: Terminal) -> None:
    lines = terminal.run("--help").splitlines()

    shown = [line[2:].split()[0] for line in lines if line.startswith("│ ") and line[2:3].isalpha()]
    assert shown == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_of_itself(terminal: Terminal, command: str) -> None:
    text = " ".join(terminal.run(command, "--help").split())

    assert "Example: " in text
    assert f"turnwise {command}" in text.partition("Example: ")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_switch_does_not_read_as_if_it_were_on(terminal: Terminal, command: str) -> None:
    assert "[default: True]" not in " ".join(terminal.run(command, "--help").split())


def test_the_version_is_the_library_s(terminal: Terminal) -> None:
    from turnwise import __version__

    assert terminal.run("--version").strip() == __version__


def test_help_loads_nothing_that_only_some_command_needs() -> None:
    program = f"import sys, turnwise.cli.main; print([name for name in {HEAVY!r} if name in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


def test_an_unknown_command_is_bad_usage(terminal: Terminal) -> None:
    assert "No such command" in terminal.run("dance", code=2)
