"""The shell completes commands, tasks and runs, as a real bash asks for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import two_agents
from tests.support.services import require

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings

# As bash calls the function at a Tab: with the words so far, and the number of the one that is incomplete.
_TAB = """
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_turnwise_completion "$PROGRAM"
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Shell:
    """A bash whose `turnwise` is this environment's; `url` is the gateway's, if it is in the environment."""

    def __init__(self, folder: Path, url: str) -> None:
        program = folder / "turnwise"
        program.write_text(f"#!{sys.executable}\nfrom turnwise.cli.main import main\nmain()\n")
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNWISE_")}
        self._folder = folder
        self._variables = kept | {"PROGRAM": str(program), **({"TURNWISE_URL": url} if url else {})}
        # Which shell it is for is told from the process that asks, and whoever runs the tests need not be one.
        self._script = self._bash('"$PROGRAM" --show-completion; exit $?') + _TAB

    def completes(self, *words: str) -> list[str]:
        """Return the offers of a Tab after these words, the last of which is incomplete."""
        return self._bash(self._script, "bash", "turnwise", *words).split()

    def _bash(self, *script: str) -> str:
        bash = shutil.which("bash")
        require(bash, "no bash on the path")
        command = [str(bash), "--norc", "-c", *script]
        done = subprocess.run(
            command, env=self._variables, cwd=self._folder, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return done.stdout


@pytest.fixture(scope="module")
def travel_agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """`two_agents`, served, with a run that waits for an answer and one that has ended."""
    folder = tmp_path_factory.mktemp("travel")
    settings = load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0")
    with EmbeddedServer(settings, two_agents.app) as server, Client(server.url) as client:
        client.submit("trip", "A weekend in Lyon", wait=30)
        client.submit("trip", "Nowhere", wait=30)
        yield client


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, travel_agency: Client) -> Shell:
    return Shell(tmp_path_factory.mktemp("shell"), travel_agency.base_url)


def test_names_of_commands_are_completed(shell: Shell) -> None:
    assert shell.completes("que") == ["queues"]


def test_names_of_tasks_are_those_that_the_gateway_serves(shell: Shell) -> None:
    assert shell.completes("submit", "") == ["trip"]


def test_ids_of_runs_are_those_that_the_gateway_has(shell: Shell, travel_agency: Client) -> None:
    (waiting,) = travel_agency.runs(status="waiting").items
    every = {run.id for run in travel_agency.runs().items}

    assert set(shell.completes("show", "run_")) == every
    assert shell.completes("answer", "") == [waiting.id]
    assert shell.completes("show", waiting.id[:-1]) == [run for run in every if run.startswith(waiting.id[:-1])]


def test_statuses_are_completed_and_no_gateway_is_no_error(shell: Shell) -> None:
    assert shell.completes("runs", "--status", "c") == ["completed", "cancelled"]
    assert shell.completes("show", "--url", "http://127.0.0.1:1", "run_") == []


def test_the_gateway_of_the_file_is_asked_and_a_file_that_cannot_be_read_is_no_error(
    tmp_path: Path, travel_agency: Client
) -> None:
    shell = Shell(tmp_path, "")
    (tmp_path / ".env").write_text(f"TURNWISE_URL={travel_agency.base_url}\n")
    assert shell.completes("submit", "") == ["trip"]
    (tmp_path / ".env").write_text(f"TURNWISE_URL: {travel_agency.base_url}\n")
    assert shell.completes("submit", "") == []
