"""Gateway, coordinator, workers and a slow model as processes, on a fresh database and broker."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import psycopg
from tests.chaos.servers import RabbitMQ
from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench.capacity.application import FOLDER, LATENCY
from bench.counting import first_message
from bench.processes import cpu_seconds
from turnwise.record.database.database import Database

_ROOT = Path(__file__).parents[2]
_PATIENCE = 300.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The number of processes, and the average time of a model's answer, in seconds."""

    workers: int = 1
    threads: int = 16
    coordinators: int = 1
    coordinator_threads: int = 4
    latency: float = 1.0
    moves: str = "worker"


@dataclass
class Fleet:
    """Processes that run, by kind."""

    plan: Plan
    database: str
    gateway: str
    broker_folder: Path | None = None
    processes: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def submit(self, conversations: int, turns: int) -> None:
        """Begin so many conversations over HTTP."""
        body = f'{{"task": "loop", "message": "{first_message(turns)}"}}'.encode()
        for _ in range(conversations):
            request = Request(f"{self.gateway}/v1/runs", body, {"Content-Type": "application/json"})
            urlopen(request, timeout=30).close()

    def wait_all_ended(self) -> None:
        """Return when no run is unfinished; raises `RuntimeError` if one failed or none ends any more."""
        _until(lambda: self.query("SELECT count(*) FROM runs WHERE finished_at IS NULL")[0][0] == 0, "the runs", 0.25)
        failed = self.query("SELECT id, status, error FROM runs WHERE status <> 'completed' LIMIT 3")
        if failed:
            raise RuntimeError(f"conversations failed: {failed}")

    def query(self, text: str) -> list[tuple[object, ...]]:
        """Rows of the database."""
        with psycopg.connect(self.database) as connection:
            return connection.execute(text.encode()).fetchall()

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far by kind of process; those of the database are of this database alone."""
        used = {kind: cpu_seconds(p.pid for p in made) for kind, made in self.processes.items()}
        return used | {"database": self._database_cpu(), "broker": cpu_seconds(_brokers(self.broker_folder))}

    def _database_cpu(self) -> float:
        name = self.database.rsplit("/", 1)[-1].partition("?")[0]
        return cpu_seconds(pid for pid, command in _postgres() if f" {name} " in command)


@contextmanager
def own_broker(folder: Path) -> Iterator[RabbitMQ]:
    """A RabbitMQ for this use alone: what others do with the machine's would be counted as ours."""
    folder.chmod(0o755)  # it may run as another user
    broker = RabbitMQ(folder / "rabbitmq")
    broker.start()
    try:
        broker.await_answer()
        yield broker
    finally:
        broker.close()


@contextmanager
def fleet(plan: Plan, folder: Path | None = None, own: RabbitMQ | None = None) -> Iterator[Fleet]:
    """A fleet that is ready, with a broker of its `own` where one is given; accounts are written to `folder`.

    Raises `NoPostgresError`, `BrokerMissing`.
    """
    with fresh_postgres() as database, nullcontext(own.url) if own else fresh_rabbitmq() as broker:
        made = Database(database)
        made.migrate()
        made.close()
        ports = [_free_port() for _ in range(2)]
        environment = _environment(plan, database, broker, ports, folder)
        running = Fleet(plan, database, f"http://127.0.0.1:{ports[0]}", own.folder if own else None)
        try:
            for kind, count, command in _commands(plan, ports):
                running.processes[kind] = [_start(command, environment) for _ in range(count)]
            _until(lambda: _answers(f"{running.gateway}/health/ready"), "the gateway")
            _until(lambda: _answers(f"http://127.0.0.1:{ports[1]}/stats"), "the model")
            expected = plan.workers + plan.coordinators
            living = "SELECT count(*) FROM workers WHERE state = 'alive'"
            _until(lambda: running.query(living)[0][0] == expected, f"{expected} processes")
            yield running
        finally:
            _stop([process for made in running.processes.values() for process in made])


def _commands(plan: Plan, ports: list[int]) -> list[tuple[str, int, list[str]]]:
    script = str(Path(__file__).parent / "application.py")
    coordinator = ["coordinator", "--concurrency", str(plan.coordinator_threads)]
    return [
        ("model", 1, ["fake-llm", script, "--bind", f"127.0.0.1:{ports[1]}"]),
        ("gateway", 1, ["gateway"]),
        ("coordinators", plan.coordinators, coordinator),
        ("workers", plan.workers, ["worker", "-Q", "llm,agent", "--concurrency", str(plan.threads)]),
    ]


def _environment(plan: Plan, database: str, broker: str, ports: list[int], folder: Path | None) -> dict[str, str]:
    return {
        **os.environ,
        "TURNWISE_APP": "bench.capacity.application:app",
        "TURNWISE_DATABASE_URL": database,
        "TURNWISE_BROKER_URL": broker,
        "TURNWISE_BIND": f"127.0.0.1:{ports[0]}",
        "TURNWISE_LOG_LEVEL": "ERROR",
        "TURNWISE_MOVES": plan.moves,
        # On a loaded machine a beat is late; here nobody dies, and a lease that is lost would be measured, too.
        "TURNWISE_LEASE_SECONDS": "30",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{ports[1]}/v1",
        "OPENAI_API_KEY": "none",
        LATENCY: str(plan.latency),
    } | ({FOLDER: str(folder)} if folder is not None else {})


def _start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "turnwise.cli.main", *command]
    return subprocess.Popen(line, env=environment, cwd=_ROOT, stdout=subprocess.DEVNULL)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _postgres() -> Iterator[tuple[int, str]]:
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended
            continue
        if command.startswith("postgres: "):
            yield int(line.parent.name), command


def _brokers(folder: Path | None) -> list[int]:
    """The RabbitMQ that keeps its data in `folder`, or any, where that is not known."""
    found = [int(name.parent.name) for name in Path("/proc").glob("[0-9]*/comm") if _read(name) == b"beam.smp\n"]
    wanted = str(folder or "").encode()
    return [pid for pid in found if wanted in _read(Path(f"/proc/{pid}/environ"))]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it ended
        return b""


def _until(holds: Callable[[], bool], what: str, pause: float = 0.1) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise RuntimeError(f"waited {_PATIENCE:.0f} s for {what}; see what the processes wrote")
        time.sleep(pause)


def _answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()
    except (URLError, OSError):
        return False
    return True


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
