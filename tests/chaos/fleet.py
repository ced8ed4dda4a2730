"""The processes of an installation, each behind proxies, looked after as an operator's supervisor does."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.chaos.servers import Server
from tests.e2e.processes import Process, environment, free_port
from tests.e2e.waiting import until
from tests.support.tcp_proxy import TcpProxy

_APP = "tests.chaos.application:app"
_ARGUMENTS: Mapping[str, list[str]] = {
    "gateway": ["gateway"],
    "coordinator": ["coordinator", "--concurrency", "4"],
    "llm": ["worker", "-Q", "llm", "--concurrency", "16"],
    "agent": ["worker", "-Q", "agent", "--concurrency", "8"],
    "worker": ["worker", "-Q", "llm,agent", "--concurrency", "16"],
}
# How often each process is looked at; one that has ended is started again then.
_LOOK = 0.25
# Seconds for processes to come up, on a machine that others load, and behind servers that start again.
_START = 180.0


class Lane:
    """The way of some processes to their servers."""

    def __init__(self, database: Server, broker: Server) -> None:
        self.database = TcpProxy(("127.0.0.1", database.port))
        self.broker = TcpProxy(("127.0.0.1", broker.port))
        self.settings = {
            "database_url": self.database.url(database.url),
            "broker_url": self.broker.url(broker.url),
        }

    def close(self) -> None:
        """Carry nothing any more."""
        self.database.close()
        self.broker.close()


class Fleet:
    """`names` such as llm-1, each with its role before the dash; every process but the gateway has an own port.

    Processes are spread over `lanes` in turn. One that ends is started again, as often as it takes.
    """

    def __init__(
        self, database: Server, broker: Server, folder: Path, sizes: Mapping[str, int], extra: Mapping[str, str]
    ) -> None:
        self.lanes = [Lane(database, broker) for _ in range(3)]
        self._folder = folder
        self._extra = extra
        self._numbers = itertools.count(1)
        self._gateway_port = free_port()
        self.url = f"http://127.0.0.1:{self._gateway_port}"
        self.names = [f"{role}-{number}" for role, size in sizes.items() for number in range(1, size + 1)]
        self._lane = dict(zip(self.names, itertools.cycle(self.lanes), strict=False))
        self.processes: dict[str, Process] = {}
        self.died: list[str] = []  # what ended though nobody had killed it, with the end of its output
        self._not_before: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start all, and wait until each can work."""
        for name in self.names:
            self._launch(name)
        for process in self.processes.values():
            process.wait_ready()
        self._keeper.start()

    def kill(self, name: str, away: float = 0.0) -> int:
        """Kill -9; it is started again after `away` seconds. The pid it had."""
        with self._lock:
            process = self.processes[name]
            self._not_before[name] = time.monotonic() + away
            process.kill()
            return process.pid

    def freeze(self, name: str, wait: Callable[[], object]) -> None:
        """Let a process do nothing until `wait` returns; it does not know of it, and keeps all that it holds."""
        with self._lock:
            process = self.processes[name]
        process.signal(signal.SIGSTOP)
        try:
            wait()
        finally:
            process.signal(signal.SIGCONT)

    def await_role(self, name: str) -> bool:
        """Wait until `name`, and all others of its role, can work; False if that takes too long.

        A role of which nobody is left recovers as fast as a process starts, which is a matter of the machine. One that
        ended by itself, as it began while a server was away, is started again and waited for as well.
        """
        role = name.partition("-")[0]
        return self._await([other for other in self.names if other.startswith(role)])

    def await_all(self) -> None:
        """Wait until every process can work, so that whoever asks them next is not told of the last fault."""
        if not self._await(self.names):
            raise TimeoutError(f"not every process came back within {_START:g} s after the last fault")

    def _await(self, names: Sequence[str]) -> bool:
        try:
            until(lambda: all(map(self._works, names)), "processes that can work", patience=_START)
        except TimeoutError:
            return False
        return True

    def _works(self, name: str) -> bool:
        with self._lock:
            process = self.processes[name]
        return process.running and process.ready

    def pids(self) -> dict[str, int]:
        """By name."""
        with self._lock:
            return {name: process.pid for name, process in self.processes.items()}

    def stop(self) -> None:
        """End all."""
        self._stopping.set()
        if self._keeper.is_alive():
            self._keeper.join()
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.stop()
        for lane in self.lanes:
            lane.close()

    def _keep(self) -> None:
        while not self._stopping.wait(_LOOK):
            with self._lock:
                for name, process in tuple(self.processes.items()):
                    if process.running:
                        continue
                    if name not in self._not_before:
                        self.died.append(f"{name}: {process.output()[-1500:]}")
                        self._not_before[name] = time.monotonic() + 1.0  # not in a busy loop
                    if time.monotonic() >= self._not_before[name]:
                        del self._not_before[name]
                        self._launch(name)

    def _launch(self, name: str) -> None:
        role = name.partition("-")[0]
        port = self._gateway_port if role == "gateway" else free_port()
        where = "bind" if role == "gateway" else "metrics_bind"
        settings = {"app": _APP, **self._lane[name].settings, where: f"127.0.0.1:{port}"}
        env = {**environment(**settings), **self._extra}
        log = self._folder / f"{name}.{next(self._numbers)}.log"
        self.processes[name] = Process(_ARGUMENTS[role], env, f"http://127.0.0.1:{port}", log)
