"""Whole installations of the scenario application: one process on SQLite, or services on PostgreSQL and a broker."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.e2e.processes import APP, Process, environment, free_port

Role = Literal["gateway", "coordinator", "llm", "agent"]
# Short, so that a test need not wait long for what a killed process held.
LEASES = {"lease_seconds": "1.5", "beat_seconds": "0.4", "sweep_seconds": "0.2"}
_ARGUMENTS: Mapping[Role, list[str]] = {
    "gateway": ["gateway"],
    "coordinator": ["coordinator", "--concurrency", "4"],
    "llm": ["worker", "-Q", "llm", "--concurrency", "4"],
    "agent": ["worker", "-Q", "agent", "--concurrency", "4"],
}


class Embedded:
    """`turnwise up` on a file, with more `settings` where they are given."""

    def __init__(self, folder: Path, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.database = f"sqlite:///{folder / 'turnwise.db'}"
        given = {"app": APP, "bind": f"127.0.0.1:{port}", "database_url": self.database}
        self.env = environment(**given, **LEASES, **settings)
        self._log = folder / "up.log"
        self.process = self._start()

    def _start(self) -> Process:
        process = Process(["up"], self.env, self.url, self._log)
        process.wait_ready()
        return process

    def kill_and_restart(self) -> None:
        """End it with kill -9 and start it again at once, on the same file and port."""
        self.process.kill()
        self.process = self._start()

    def stop(self) -> None:
        """End it in good order."""
        self.process.stop()


class Distributed:
    """A gateway, a coordinator and a worker for each queue, as processes of their own."""

    def __init__(self, database: str, broker: str, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.broker = broker
        self.settings = {"app": APP, "database_url": database, "broker_url": broker, **LEASES}
        self.processes: dict[Role, Process] = {}

    def start(self) -> None:
        """Start all four, and wait until each can work."""
        for role in _ARGUMENTS:
            self.launch(role)
        for process in self.processes.values():
            process.wait_ready()

    def launch(self, role: Role) -> Process:
        """Start a process in that role; it takes the place of an earlier one."""
        port = self._port if role == "gateway" else free_port()
        where = "bind" if role == "gateway" else "metrics_bind"
        env = environment(**self.settings, **{where: f"127.0.0.1:{port}"})
        log = self._folder / f"{role}-{next(self._numbers)}.log"
        process = Process(_ARGUMENTS[role], env, f"http://127.0.0.1:{port}", log)
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
