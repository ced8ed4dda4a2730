"""The embedded server: gateway, coordinator and responders in one process, on a SQLite file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from turnwise.app import App
from turnwise.bus.envelope import MoveEnvelope, Work
from turnwise.bus.in_process import InProcessBus
from turnwise.bus.routing import COORDINATOR_QUEUE, work_queues
from turnwise.errors import ConfigurationError, DatabaseUnavailableError
from turnwise.observability.telemetry.export import start_exporting
from turnwise.processes.metrics import Metrics, watch_database, watch_process
from turnwise.processes.observers import observers_of
from turnwise.processes.service_loading import load_service
from turnwise.record.database.database import Database
from turnwise.record.database.file_lock import EmbeddedLock
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.store import Store
from turnwise.serving.moves.permits import permit
from turnwise.serving.observer import Observer

if TYPE_CHECKING:
    from turnwise.processes.settings import ServiceSettings

logger = logging.getLogger(__name__)

# SQLite lets one writer in at a time, so more threads would only queue up.
_MOVERS = 2


class EmbeddedServer:
    """Everything that serves runs, in threads of this process, from `start` to `stop`.

    Takes `bind`, `database_url` and the limits from the settings; port 0 takes a free one. No broker is used.
    `observers` join those of Turnwise.
    """

    def __init__(self, settings: ServiceSettings, app: App, *, observers: Sequence[Observer] = ()) -> None:
        self._more_observers = observers
        self._settings = settings
        self._app = app
        self._open = ExitStack()
        self._gateway: Any = None

    @property
    def url(self) -> str:
        """Return where the gateway listens; valid once started."""
        return str(self._gateway.base_url)

    def start(self) -> None:
        """Open the database, take over what a killed server left, and serve; on failure nothing stays open.

        Raises `AlreadyServedError`, `AddressInUseError`, `DatabaseUnavailableError`, `SchemaVersionError` and
        `ConfigurationError`.
        """
        with ExitStack() as opening:
            opening.callback(start_exporting("turnwise").flush)
            database = self._open_database(opening)
            bus = InProcessBus()
            opening.callback(bus.close)
            store = Store(
                database,
                lease_seconds=self._settings.lease_seconds,
                tenant_weights=self._settings.tenant_weights,
            )
            self._start_services(opening, store, bus)
            self._open = opening.pop_all()

    def stop(self) -> None:
        """Take no more work, end what is being done, close everything."""
        self._open.close()

    def __enter__(self) -> EmbeddedServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _open_database(self, opening: ExitStack) -> Database:
        database = Database(self._settings.database_url, synchronous=self._settings.sqlite_synchronous)
        opening.callback(database.close)
        if database.is_postgres:
            raise ConfigurationError(
                f"TURNWISE_DATABASE_URL is {database.name}, but the embedded server keeps its runs in a SQLite file; "
                "name one, sqlite:///FILE, or start `turnwise gateway`, `coordinator` and `worker` instead"
            )
        file = Path(database.url.database or "")
        if not file.parent.is_dir():
            raise DatabaseUnavailableError(
                f"there is no directory {file.parent} for the database {file.name}; make it, or correct "
                "TURNWISE_DATABASE_URL"
            )
        opening.enter_context(EmbeddedLock(file))
        return database

    def _start_services(self, opening: ExitStack, store: Store, bus: InProcessBus) -> None:
        settings = self._settings
        metrics = Metrics(CollectorRegistry(), (self._app.name, self._app.version))
        metrics.expect_tasks(self._app.tasks)
        watch_process(metrics.registry)
        watch_database(metrics, store.database.pool)
        observers = observers_of(self._app, bus, metrics, *self._more_observers)
        store.call_after_commit(observers.events_stored)
        parts = (store, bus, self._app, settings)
        # The port is taken before there are tables: if it is busy, nothing has been written. It is served after.
        api = load_service("gateway", "api").create_api(*parts, metrics, observers)
        host, port = settings.bind_address
        gateway = load_service("gateway", "server").GatewayThread(api, host, port)
        opening.callback(gateway.stop)
        self._gateway = gateway
        store.database.migrate()
        gateway.start()
        queues = work_queues(settings.llm_queues, settings.agent_queues)
        responders = load_service("responders", "responders").Responders(*parts, observers, queues=queues)
        coordinator = load_service("coordinator", "coordinator").Coordinator(*parts, observers)

        def move(work: Work) -> None:
            if isinstance(work, MoveEnvelope):
                coordinator.woken(work.run)

        take_over(store.coordinator, bus)
        responders.start()
        opening.callback(responders.stop)
        draining = Thread(target=responders.end_answers, name="turnwise-drain", daemon=True)
        coordinator.start()
        opening.callback(coordinator.stop)
        opening.callback(bus.consume(queues, responders.answer, threads=settings.concurrency).stop)
        opening.callback(bus.consume([COORDINATOR_QUEUE], move, threads=_MOVERS).stop)
        # The first of all to be called: what is being answered has the drain's time, and no run is carried on.
        opening.callback(draining.start)
        opening.callback(responders.stop_claiming)


def take_over(record: CoordinatorRole, bus: InProcessBus) -> None:
    """Continue with what an earlier server held; for the holder of the lock, who knows that no other lives."""
    taken = record.take_over_all()
    for ask in taken:
        bus.publish_ask(permit(ask))
    due = record.due_moves(patience=0.0)
    for run in due:
        bus.wake(run)
    if taken or due:
        logger.info(
            "Going on with what an earlier server left: %d asks taken over, %d runs to move",
            len(taken),
            len(due),
            extra={"action": "taken_over", "asks": len(taken), "runs": len(due)},
        )
