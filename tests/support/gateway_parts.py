"""A gateway over a real SQLite record, served over real HTTP, with nobody behind it who would work on its runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client import CollectorRegistry
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import happen

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.base.clock import SYSTEM_CLOCK
from turnwise.base.tls import tls_towards
from turnwise.base.waits import HumanWait
from turnwise.bus.base import Bus
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers.log_lines import LogLines
from turnwise.processes.observers.metrics import RunMetrics
from turnwise.processes.observers.notices import RunNotices
from turnwise.processes.settings import ServiceSettings, load_settings
from turnwise.record.database.database import Database
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.values.records import NewAsk
from turnwise.serving.observer import Observers
from turnwise.serving.watches import hear_watches
from turnwise_gateway.api import create_api
from turnwise_gateway.server import GatewayThread
from turnwise_gateway.watching.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Served:
    """A gateway, what is behind it, and a plain HTTP client of it."""

    base_url: str
    http: httpx2.Client
    store: Store
    bus: Bus

    def submit(self, **changes: Any) -> str:
        """A new run's id."""
        response = self.http.post("/v1/runs", json={"task": "desk", "message": "hello"} | changes)
        assert response.status_code == 202, response.text
        return str(response.json()["id"])

    def ask_human(self, run_id: str, text: str = "May I?", *, turn: int = 1, recipient: str = "User") -> str:
        """Let the run wait for an answer to `text`; the question's id."""
        question = f"{run_id}.1.{turn}.1"
        document = {"content": text, "metadata": {"id": f"doc-{turn}", "sender": "LLM", "recipient": recipient}}
        with self.store.coordinator.locked(run_id) as transaction:
            transaction.put_document(f"doc-{turn}", document)
            transaction.add_ask(
                NewAsk(
                    id=question,
                    frame_no=1,
                    path="desk",
                    agent="desk",
                    responder="user",
                    queue=None,
                    turn=turn,
                    candidate=1,
                    message_id=f"doc-{turn}",
                )
            )
            happen(
                transaction, "human.asked", path="desk", turn=turn, ask_id=question, data={"document": f"doc-{turn}"}
            )
            waiting_for = HumanWait(question=question, task="desk")
            transaction.change(status=RunStatus.WAITING, awaiting=question, waiting_for=waiting_for, move_due_at=None)
        return question

    def happen(self, run_id: str, type: str, **more: Any) -> int:
        """Write an event of the run; its number."""
        with self.store.coordinator.locked(run_id) as transaction:
            return happen(transaction, type, **more)

    def reply(self, run_id: str, content: str) -> None:
        """Let a turn of the run be answered."""
        with self.store.coordinator.locked(run_id) as transaction:
            document = f"doc-{transaction.run.last_seq}"
            transaction.put_document(document, {"content": content})
            happen(transaction, "turn.taken", path="desk", data={"document": document})

    def finish(self, run_id: str, content: str = "done") -> None:
        """End the run with a result."""
        with self.store.coordinator.locked(run_id) as transaction:
            transaction.put_document("result", {"content": content})
            transaction.finish(RunStatus.COMPLETED, "DONE", result={"content": content})
            happen(transaction, "run.completed", path="desk", data={"status": "DONE", "document": "result"})


def make_app() -> App:
    """An application with one task, `desk`."""
    app = App("tests", version="7")

    @app.task
    def desk() -> Task:
        config = ChatAgentConfig(name="desk", llm=MockLMConfig(default_response="hi"))
        return Task(ChatAgent(config), name="desk", interactive=True)

    return app


@contextmanager
def served(
    directory: Path,
    *,
    bus: Bus | None = None,
    port: int = 0,
    database: Database | None = None,
    app: App | None = None,
    poll_seconds: float | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """A gateway over `database`, or the record in `directory`, for the time of the `with` block.

    `poll_seconds` is how often watchers look into the record where no one tells them.
    """
    file, given = directory / "record.db", database
    if database is None:
        database = Database(f"sqlite:///{file}") if file.exists() else fresh_sqlite(file)
    own_bus = bus or InProcessBus()
    metrics = Metrics(CollectorRegistry())
    observers = Observers(LogLines(), RunMetrics(metrics), RunNotices(own_bus, SYSTEM_CLOCK))
    store = Store(database, after_commit=observers.events_stored)
    hear_watches(own_bus, observers)
    # Nobody is behind it, so runs stay as they were accepted.
    made: ServiceSettings = load_settings(**{"moves": "coordinator"} | settings)
    api = create_api(store, own_bus, app or make_app(), made, metrics, observers)
    if poll_seconds is not None:
        watch: Watch = api.state.gateway.watch
        watch.poll_seconds = poll_seconds
    try:
        with (
            GatewayThread(api, port=port) as gateway,
            httpx2.Client(base_url=gateway.base_url, timeout=30, verify=tls_towards(gateway.base_url)) as http,
        ):
            yield Served(base_url=gateway.base_url, http=http, store=store, bus=own_bus)
    finally:
        own_bus.close()
        if given is None:
            database.close()
