"""Several workers' processes and a coordinator over one database, as threads of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from prometheus_client import CollectorRegistry

from turnwise import App, Entity
from turnwise.base.ids import new_id
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope, Work
from turnwise.bus.in_process import InProcessBus
from turnwise.bus.routing import COORDINATOR_QUEUE, work_queues
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.wire import encode_document
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers import observers_of
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.journal import News
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.serving.observer import Observers
from turnwise_coordinator.coordinator import Coordinator
from turnwise_responders.responders import Responders


class Fleet:
    """Serves an application with `processes` workers of `threads` threads, each over connections of its own.

    A fleet with the `queue` of another one continues its runs.
    """

    def __init__(
        self, url: str, app: App, *, processes: int = 3, threads: int = 4, queue: str | None = None, **settings: Any
    ) -> None:
        self._url, self._app = url, app
        self._processes, self._threads = processes, threads
        own = queue or new_id("q")
        names = {agent.config.name for name in app.tasks for agent in app.tree(name).agents.values()}
        queues: Any = dict.fromkeys(names, own)
        fast = {"sweep_seconds": 0.1, "llm_queues": queues, "agent_queues": queues}
        self._settings = load_settings(**(fast | settings))
        self._queues = work_queues(queues, queues)
        self._open = ExitStack()
        self.bus = InProcessBus()
        self._changed = threading.Condition()
        self.store = self._new_store()

    def __enter__(self) -> Fleet:
        opening = self._open
        opening.callback(self.bus.close)
        coordinator = Coordinator(self._new_store(), self.bus, self._app, self._settings, self._observers())

        def move(work: Work) -> None:
            if isinstance(work, MoveEnvelope):
                coordinator.move(work.run)

        coordinator.start()
        opening.callback(coordinator.stop)
        for _ in range(self._processes):
            self._work(opening)
        opening.callback(self.bus.consume([COORDINATOR_QUEUE], move, threads=2).stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def submit(self, task: str, text: str = "hello", *, tenant: str = DEFAULT_TENANT, **given: Any) -> str:
        """A new run's id."""
        metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER, tainted=True)
        message = encode_document(ChatDocument(content=text, metadata=metadata))
        run, _ = self.store.tenant(tenant).submit(
            NewRun(id=new_id("run"), task=task, version="1", message=message, **given)
        )
        self.bus.wake(run.id)
        return run.id

    def ended(self, runs: Iterable[str], seconds: float = 60.0) -> list[RunRecord]:
        """The runs, once all have ended."""
        wanted = list(runs)
        left = set(wanted)

        def none_left() -> bool:
            # One at a time: with many runs, looking at all after each event would take longer than the runs.
            while left and self.store.inspector.run(next(iter(left))).ended:
                left.pop()
            return not left

        assert self.until(none_left, seconds), f"{len(left)} of {len(wanted)} runs have not ended"
        return [self.store.inspector.run(run) for run in wanted]

    def until(self, holds: Callable[[], bool], seconds: float = 60.0) -> bool:
        """Wait until something holds, looking whenever an event was written, and return whether it came to that."""
        with self._changed:
            return self._changed.wait_for(holds, seconds)

    def _work(self, opening: ExitStack) -> None:
        responders = Responders(
            self._new_store(), self.bus, self._app, self._settings, self._observers(), queues=self._queues
        )

        def answer(work: Work) -> None:
            if isinstance(work, AskEnvelope):
                responders.answer(work)

        responders.start()
        opening.callback(responders.stop)
        opening.callback(self.bus.consume(self._queues, answer, threads=self._threads).stop)

    def _observers(self) -> Observers:
        return observers_of(self._app, self.bus, Metrics(CollectorRegistry()))

    def _new_store(self) -> Store:
        database = Database(self._url)
        self._open.callback(database.close)
        return Store(
            database,
            lease_seconds=self._settings.lease_seconds,
            after_commit=self._noticed,
            tenant_weights=self._settings.tenant_weights,
        )

    def _noticed(self, _run: RunRecord, _news: Sequence[News]) -> None:
        with self._changed:
            self._changed.notify_all()
