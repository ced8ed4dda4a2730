"""The section "Serve it on many machines" of the README, followed command by command on fresh servers."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.brokers import BrokerMissing, fresh_rabbitmq
from tests.support.databases import NoPostgresError, postgres_server
from tests.support.services import missing

from turnwise.base.ids import new_id
from turnwise.client import Client
from turnwise.errors import TurnwiseError

_README = (Path(__file__).parents[2] / "README.md").read_text()
# Those that run until they are told to stop; the others end by themselves.
_SERVICES = ("gateway", "coordinator", "worker")

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(300)]


def _section(title: str) -> str:
    return _README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def _block(text: str, kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, f"the README has no block of {kind} there any more"
    return found[1]


def _commands() -> list[list[str]]:
    lines = _block(_section("Serve it on many machines"), "console").splitlines()
    return [shlex.split(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


class Reader:
    """Somebody who does what the page says, in a directory of his own with terminals of their own."""

    def __init__(self, folder: Path, database: str, broker: str) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        (folder / "office.py").write_text(_block(_section("Write a task"), "python"))
        env = _block(_section("Serve it on many machines"), "ini")
        # Only the servers' addresses are others than the page's.
        env = re.sub(r"^(TURNWISE_DATABASE_URL)=.*$", rf"\1={database}", env, flags=re.MULTILINE)
        env = re.sub(r"^(TURNWISE_BROKER_URL)=.*$", rf"\1={broker}", env, flags=re.MULTILINE)
        (folder / ".env").write_text(env)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNWISE_")}
        port = {"TURNWISE_BIND": self.url.removeprefix("http://"), "TURNWISE_URL": self.url}
        self._env = {**kept, **port, "PYTHONUNBUFFERED": "1"}
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self, words: list[str]) -> str:
        """Run a command that ends by itself; return its output."""
        ran = subprocess.run(
            self._program(words),
            cwd=self.folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def start(self, words: list[str]) -> None:
        """Start a service in a terminal of its own."""
        log = self.folder / f"{words[1]}-{len(self._running)}.log"
        with log.open("wb") as output:
            self._running.append(
                subprocess.Popen(
                    self._program(words), cwd=self.folder, env=self._env, stdout=output, stderr=subprocess.STDOUT
                )
            )

    def ended(self) -> str:
        """The logs of services that have ended though nobody stopped them."""
        logs = sorted(self.folder.glob("*.log"))
        over = {process.args[1] for process in self._running if process.poll() is not None}  # type: ignore[index]
        return "\n".join(log.read_text() for log in logs if log.name.split("-")[0] in over)

    def serving(self, kind: str) -> int:
        """Return the number of processes of a kind in the installation."""
        assert not self.ended(), self.ended()
        try:
            with Client(self.url) as client:
                return sum(worker.kind == kind and worker.state == "alive" for worker in client.workers())
        except TurnwiseError:
            return 0

    def stop(self) -> None:
        """Ctrl-C in every terminal."""
        for process in self._running:
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _program(self, words: list[str]) -> list[str]:
        assert words[0] == "turnwise", words
        return [str(Path(sys.executable).with_name("turnwise")), *words[1:]]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        try:
            server = postgres_server()
            broker = stack.enter_context(fresh_rabbitmq())
        except (NoPostgresError, BrokerMissing) as error:
            missing(str(error))
        name = new_id("tw_readme")
        made = Reader(tmp_path, make_url(server).set(database=name).render_as_string(hide_password=False), broker)
        yield made
        made.stop()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def test_the_commands_of_the_page_work_on_fresh_servers(reader: Reader) -> None:
    printed = ""
    for words in _commands():
        if words[1] in _SERVICES:
            reader.start(words)
        else:
            if words[1] == "submit":
                # "as many of each as you need": a second one of each on the same machine, without a port.
                reader.start(["turnwise", "coordinator"])
                reader.start(["turnwise", "worker"])
                until(lambda: reader.serving("coordinator") == 2, "two coordinators on one machine", patience=120)
                until(lambda: reader.serving("responders") == 2, "two workers on one machine", patience=120)
            printed = reader.run(words)

    assert "250 Swiss francs are 260 euros." in printed
    assert not reader.ended()
