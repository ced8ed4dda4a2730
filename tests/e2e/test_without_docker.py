"""The processes of docker-compose.yml, started from that very file on a machine without Docker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from deploy.without_docker.__main__ import main
from tests.chaos.folder import run_folder
from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.monitoring import program
from tests.support.services import missing

from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.demo.app import app
from turnwise.demo.tickets import outcome_of
from turnwise.errors import TurnwiseError

_ROOT = Path(__file__).parents[2]
_TOKEN = "a-long-random-string"
_SERVERS = {"postgres", "rabbitmq"}
_PROFILES = ("--profile", "observability", "--profile", "scripted")
_OURS = {"gateway", "coordinator", "worker-llm", "worker-agent", "fake-llm"}
# Seconds; servers and processes start on a machine that may have other things to do.
_START = 180.0
_TICKET = "Ticket T-1 from ann@example.com\nSubject: Sharing\n\nHow do I share a notebook with a colleague?"

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(400)]


class WithoutDocker:
    """The command that runs, and what it has printed."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url, self.prometheus = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._log = data / "log"
        # The settings of whoever runs the tests are not those of this installation.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNWISE_", "OPENAI_"))}
        settings = {
            "TURNWISE_AUTH_TOKEN": _TOKEN,
            "TURNWISE_PORT": self.url.rpartition(":")[2],
            "TURNWISE_PROMETHEUS_PORT": self.prometheus.rpartition(":")[2],
            "TURNWISE_ALERTMANAGER_PORT": str(free_port()),
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deploy.without_docker", "--data", str(data), *_PROFILES],
                cwd=_ROOT,
                env={**kept, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self) -> str:
        """All of it so far."""
        return self._log.read_text(errors="replace")

    def said(self, pattern: str) -> list[str]:
        """Return the matches of `pattern` at the beginning of lines."""
        return re.findall(f"^{pattern}", self.output(), re.MULTILINE)

    def pid(self, service: str) -> int:
        """The latest one of a service."""
        return int(self.said(rf"{service} *\| started \(pid (\d+)\)")[-1])

    def processes(self) -> list[str]:
        """Command lines of all that runs with a setting or a folder of this installation."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if str(self.data).encode() in (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def await_line(self, pattern: str, times: int = 1) -> None:
        """Wait until lines began so as often as that."""
        until(lambda: self._look(pattern, times), f"{pattern!r}, {times} times, in\n{self.output()[-3000:]}", _START)

    def _look(self, pattern: str, times: int) -> bool:
        found = len(self.said(pattern)) >= times
        if not found and self.process.poll() is not None:
            raise RuntimeError(f"it ended with {self.process.returncode}:\n{self.output()[-4000:]}")
        return found


@pytest.fixture(scope="module")
def running() -> Iterator[WithoutDocker]:
    """Everything, once all of it can be used."""
    with run_folder() as data:
        installation = WithoutDocker(data)
        try:
            installation.await_line("All can be used")
            yield installation
        except RuntimeError as error:
            if "install it" in installation.output():
                missing(str(error))
            raise
        finally:
            installation.process.send_signal(signal.SIGTERM)
            installation.process.wait(timeout=60)


def ask_the_desk(url: str) -> dict[str, Any]:
    """Submit a ticket, and return its run once it has ended."""
    with Client(url, token=_TOKEN) as client:
        run_id = client.submit("triage", _TICKET).id
        list(client.events(run_id))
        return as_json(client.run(run_id))


def test_a_run_is_served_by_the_demo_and_its_scripted_model(running: WithoutDocker) -> None:
    run = ask_the_desk(running.url)

    assert (run["status"], run["task"]) == ("completed", next(iter(app.tasks)))
    assert outcome_of(run["result"]["content"]) is not None, json.dumps(run["result"])


def test_the_gateway_takes_nothing_without_the_token(running: WithoutDocker) -> None:
    with Client(running.url, token="another") as client, pytest.raises(TurnwiseError, match="token"):
        client.submit("triage", _TICKET)


def test_a_service_that_dies_is_started_again(running: WithoutDocker) -> None:
    os.kill(running.pid("worker-llm"), signal.SIGKILL)

    # It has to be healthy after its end: its health may have come and gone before. 0.1 s is what one waits that lasted.
    end = r"(?s:.*)^worker-llm +\| ended \(killed by SIGKILL\); started again in 0\.[12] s$"
    running.await_line(end + r"(?s:.*)^worker-llm +\| healthy")

    assert ask_the_desk(running.url)["status"] == "completed"


def test_a_second_one_on_the_same_data_is_refused(
    running: WithoutDocker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TURNWISE_AUTH_TOKEN", _TOKEN)
    monkeypatch.setattr(sys, "argv", ["without_docker", "--data", str(running.data)])

    assert main() == 2
    assert f"the services of {running.data} run already" in capsys.readouterr().err


def test_prometheus_finds_every_process(running: WithoutDocker) -> None:
    program("prometheus")

    def scraped() -> dict[str, int]:
        with urlopen(f"{running.prometheus}/api/v1/query?query=count+by+(job)+(turnwise_build_info)") as response:
            found = json.load(response)["data"]["result"]
        return {one["metric"]["job"]: int(one["value"][1]) for one in found}

    expected = {"turnwise-gateway": 1, "turnwise-coordinator": 1, "turnwise-worker": 2}
    until(lambda: scraped() == expected, "Prometheus to have scraped all four")


def test_all_end_in_good_order_and_leave_no_process_behind(running: WithoutDocker) -> None:
    assert len(running.processes()) > len(_SERVERS | _OURS)

    running.process.send_signal(signal.SIGINT)
    code = running.process.wait(timeout=60)

    ended = running.said(r"([\w-]+) +\| ended \(exit code 0\)$")
    assert code == 0, running.output()[-4000:]
    assert set(ended) - {"prometheus", "alertmanager"} == {"migrate", *_OURS, *_SERVERS}
    servers = [name for name in ended if name in {*_OURS, *_SERVERS} - {"fake-llm"}][-2:]
    assert set(servers) == _SERVERS
    until(lambda: not running.processes(), "every process to be gone")
