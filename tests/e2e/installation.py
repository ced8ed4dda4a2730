"""Whole installations of the scenario application: one process on SQLite, or services on PostgreSQL and a broker."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from tests.e2e.processes import APP, Process, environment, free_port
from tests.support.brokers import BrokerMissing
from tests.support.services import migrated_postgres, missing

Role = Literal["gateway", "coordinator", "llm", "agent", "worker"]
EACH_APART: tuple[Role, ...] = ("gateway", "coordinator", "llm", "agent")
# One worker for all queues: fewer processes, for tests that start many.
ONE_WORKER: tuple[Role, ...] = ("gateway", "coordinator", "worker")
# Short, so that a test need not wait long for what a killed process held.
LEASES = {"lease_seconds": "1.5", "beat_seconds": "0.4", "sweep_seconds": "0.5"}
_ARGUMENTS: Mapping[Role, list[str]] = {
    "gateway": ["gateway"],
    "coordinator": ["coordinator", "--concurrency", "4"],
    "llm": ["worker", "-Q", "llm", "--concurrency", "4"],
    "agent": ["worker", "-Q", "agent", "--concurrency", "4"],
    "worker": ["worker", "-Q", "llm,agent", "--concurrency", "8"],
}


# Those that were started and not stopped: a test that fails tells of them (see `at_failure`).
RUNNING: weakref.WeakSet[Embedded | Distributed] = weakref.WeakSet()


class Embedded:
    """`turnwise up` on a file, with more `settings` where they are given; `app` is the application's address."""

    def __init__(self, folder: Path, app: str = APP, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.database = f"sqlite:///{folder / 'turnwise.db'}"
        given = {"app": app, "bind": f"127.0.0.1:{port}", "database_url": self.database}
        self.env = environment(**{**given, **LEASES, **settings})
        self._log = folder / "up.log"
        self.process = self._start()

    def _start(self) -> Process:
        RUNNING.add(self)
        process = Process(["up"], self.env, self.url, self._log)
        process.wait_ready()
        return process

    def each_process(self) -> list[Process]:
        """The one process."""
        return [self.process]

    def kill_and_restart(self) -> None:
        """End it with kill -9 and start it again at once, on the same file and port."""
        self.process.kill()
        self.restart()

    def restart(self) -> None:
        """Start it again, on the same file and port; it has ended."""
        self.process = self._start()

    def stop(self) -> None:
        """End it in good order."""
        self.process.stop()
        RUNNING.discard(self)


class Distributed:
    """A gateway, a coordinator and workers, as processes of their own, all of one `python`."""

    def __init__(
        self,
        database: str,
        broker: str,
        folder: Path,
        app: str = APP,
        *,
        python: str = sys.executable,
        roles: tuple[Role, ...] = EACH_APART,
        **settings: str,
    ) -> None:
        self._python = python
        self._roles = roles
        self._folder = folder
        self._numbers = itertools.count(1)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.database = database
        self.broker = broker
        self.settings = {"app": app, "database_url": database, "broker_url": broker, **LEASES, **settings}
        self.processes: dict[Role, Process] = {}

    def each_process(self) -> list[Process]:
        """Those of all roles."""
        return list(self.processes.values())

    def start(self) -> None:
        """Start all, and wait until each can work."""
        RUNNING.add(self)
        for role in self._roles:
            self.launch(role)
        for process in self.processes.values():
            process.wait_ready()

    def launch(self, role: Role) -> Process:
        """Start a process in that role; it takes the place of an earlier one."""
        port = self._port if role == "gateway" else free_port()
        where = "bind" if role == "gateway" else "metrics_bind"
        env = environment(**self.settings, **{where: f"127.0.0.1:{port}"})
        log = self._folder / f"{role}-{next(self._numbers)}.log"
        process = Process(_ARGUMENTS[role], env, f"http://127.0.0.1:{port}", log, self._python)
        self.processes[role] = process
        return process

    def kill_and_replace(self, role: Role) -> tuple[int, int]:
        """Kill -9 the process of a role and start another; the pids of both."""
        old = self.processes[role]
        old.kill()
        new = self.launch(role)
        new.wait_ready()
        return old.pid, new.pid

    def kill_and_replace_all(self) -> None:
        """Kill -9 every process, then start them all again."""
        for process in self.processes.values():
            process.kill()
        self.start()

    def stop(self) -> None:
        """End all."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.stop()
        RUNNING.discard(self)


@contextmanager
def distributed_on(
    fresh_broker: Callable[[], AbstractContextManager[str]],
    folder: Path,
    app: str = APP,
    *,
    roles: tuple[Role, ...] = EACH_APART,
    **settings: str,
) -> Iterator[Distributed]:
    """Services on a fresh database and broker; skips the test where one of them is missing."""
    try:
        # Migrated in this process: a command would take a second to start, each time.
        with migrated_postgres() as database, fresh_broker() as broker:
            installation = Distributed(database, broker, folder, app, roles=roles, **settings)
            try:
                installation.start()
                yield installation
            finally:
                installation.stop()
    except BrokerMissing as error:
        missing(str(error))
