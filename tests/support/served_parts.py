"""A coordinator and responders over a real record, driven step by step from a test's own thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from tests.e2e.waiting import until

from turnwise import App, Entity
from turnwise.base.ids import new_id
from turnwise.bus.base import Bus, OnNotice
from turnwise.bus.envelope import WatchNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.bus.routing import work_queues
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.wire import encode_document
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers import observers_of
from turnwise.processes.settings import load_settings
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observer
from turnwise_coordinator.coordinator import Coordinator
from turnwise_responders.responders import Responders

# More steps than any test's run takes; one that goes on for ever fails instead of hanging.
_STEPS = 100


class Desk:
    """One application, served over `store`; nothing happens but what a test asks for.

    It has queues of its own, because tests share a database, or those of `beside`; `observers` join those of Turnwise.
    """

    def __init__(
        self,
        store: Store,
        app: App,
        *,
        beside: Desk | None = None,
        bus: Bus | None = None,
        observers: Sequence[Observer] = (),
        **settings: Any,
    ) -> None:
        self.store = store
        self.app = app
        self.bus: Any = bus or InProcessBus()
        self.own: str = beside.own if beside is not None else new_id("q")
        names = {agent.config.name for name in app.tasks for agent in app.tree(name).agents.values()}
        queues: Any = dict.fromkeys(names, self.own)
        made = load_settings(llm_queues=queues, agent_queues=queues, **settings)
        self.settings = made
        self.metrics = Metrics(CollectorRegistry())
        self.told = told = observers_of(app, self.bus, self.metrics, *observers)
        if observers:  # a store may be that of a gateway, which has its own
            store.call_after_commit(told.events_stored)
        self.coordinator = Coordinator(store, self.bus, app, made, told)
        self.responders = Responders(store, self.bus, app, made, told, queues=work_queues(queues, queues))

    def __enter__(self) -> Desk:
        self.responders.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.responders.stop()
        self.bus.close()

    def sweep(self) -> None:
        """Look once for what got lost, as coordinators do at intervals."""
        self.coordinator.sweep()

    def submit(self, task: str, text: str = "hello", *, tenant: str = DEFAULT_TENANT, **limits: Any) -> str:
        """A new run's id; `text` comes as from a human."""
        metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER, tainted=True)
        message = encode_document(ChatDocument(content=text, metadata=metadata))
        run, _ = self.store.tenant(tenant).submit(
            NewRun(id=new_id("run"), task=task, version="1", message=message, **limits)
        )
        return run.id

    def watch(self, run_id: str, callback: OnNotice) -> None:
        """Let `callback` hear what a gateway would that watches the run; returns once the responders know."""
        listener = self.bus.listen(callback)
        self.bus.notify(WatchNotice(listener=listener.address, runs=[run_id], seconds=60))
        until(lambda: bool(self.responders.watched.listeners(run_id)), "the responders to hear of the watch")

    def go_on(self, run_id: str) -> RunRecord:
        """Move and answer until the run has ended or waits for a human."""
        for _ in range(_STEPS):
            moved = self.coordinator.move(run_id)
            if moved.run.ended or moved.run.status == "waiting":
                return moved.run
            if not self.answer(moved):
                return self.store.inspector.run(run_id)
        raise AssertionError(f"{run_id} neither ended nor waited after {_STEPS} steps")

    def answer(self, moved: Moved) -> bool:
        """Answer what a move asked, and return whether it asked a responder."""
        return moved.ask is not None and self.responders.answer(moved.ask)

    def events(self, run_id: str) -> list[str]:
        """The types of the run's events."""
        return [event.type for event in self.store.inspector.events(run_id)]
