"""An installation of processes on a fresh PostgreSQL database and RabbitMQ host, with a slow model of its own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.processes import Process, environment, free_port
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench.slow_loop import slow_message
from turnwise.base.ids import new_id
from turnwise.messages.wire import encode_document
from turnwise.processes.bootstrap import Parts, open_parts
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun
from turnwise.tasks.entry import document_of

_SCRIPT = Path(__file__).parent / "slow_loop.py"


class Installation:
    """A coordinator and a fake model of `bench.slow_loop`; workers are started by whoever measures."""

    def __init__(self, folder: Path, database: str, broker: str) -> None:
        self._folder, self._numbers = folder, itertools.count(1)
        self._settings = {"app": "bench.slow_loop:app", "database_url": database, "broker_url": broker}
        port = free_port()
        self.model_url = f"http://127.0.0.1:{port}"
        bind = ["--bind", f"127.0.0.1:{port}"]
        model = Process(["fake-llm", str(_SCRIPT), *bind], environment(), self.model_url, folder / "model.log")
        self.processes = [model]
        self.coordinator = self.start("coordinator", "--concurrency", "4")
        self.parts: Parts = open_parts(load_settings(**self._settings))

    def environment(self, **settings: str) -> dict[str, str]:
        """That of its processes, with further settings."""
        model = {"OPENAI_BASE_URL": f"{self.model_url}/v1", "OPENAI_API_KEY": "none"}
        return environment(**{"log_level": "WARNING", **self._settings, **settings}) | model

    def start(self, *arguments: str, also: Mapping[str, str] | None = None, **settings: str) -> Process:
        """A command of `turnwise` with its metrics on a port of its own; `also` are other variables."""
        port = free_port()
        env = self.environment(metrics_bind=f"127.0.0.1:{port}", **settings) | dict(also or {})
        log = self._folder / f"{arguments[0]}-{next(self._numbers)}.log"
        process = Process(list(arguments), env, f"http://127.0.0.1:{port}", log, may_fork=False)
        self.processes.append(process)
        return process

    def model_counts(self) -> dict[str, int]:
        """The model's own count of what was asked of it."""
        with urlopen(f"{self.model_url}/stats", timeout=10) as response:
            counts: dict[str, int] = json.load(response)
            return counts

    def wait_ready(self) -> None:
        """Return once coordinator and model answer."""

        def answers() -> bool:
            with suppress(URLError, OSError):
                return bool(self.model_counts())
            return False

        until(answers, "the fake model")
        self.coordinator.wait_ready()

    def submit(self, turns: int, latency: float, pace: float = 0.0) -> str:
        """Begin a conversation in which the tool is called `turns // 2` times; its run's id."""
        message = encode_document(document_of(slow_message(turns, latency, pace)))
        run = NewRun(id=new_id("run"), task="loop", version="1", message=message)
        self.parts.store.tenant(DEFAULT_TENANT).submit(run)
        self.parts.bus.wake(run.id)
        return run.id

    def stop(self) -> None:
        """End all processes; those that answer end what they are at first."""
        self.parts.close()
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            process.stop()


@contextmanager
def installation() -> Iterator[Installation]:
    """An installation without workers yet; raises `NoPostgresError` and `BrokerMissing`."""
    with TemporaryDirectory(prefix="turnwise-bench-") as folder, fresh_postgres() as url, fresh_rabbitmq() as broker:
        database = Database(url)
        database.migrate()
        database.close()
        made = Installation(Path(folder), url, broker)
        try:
            made.wait_ready()
            yield made
        finally:
            made.stop()
