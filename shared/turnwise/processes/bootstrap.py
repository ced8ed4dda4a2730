"""The parts of a service of the distributed set; each process makes them once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from turnwise.app import App, load_app
from turnwise.bus.base import Bus
from turnwise.bus.broker.url import TLSFiles
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.signing import WireKeys
from turnwise.errors import ConfigurationError
from turnwise.processes.metrics import (
    Metrics,
    MetricsServer,
    serve_metrics,
    watch_broker,
    watch_database,
    watch_process,
)
from turnwise.processes.metrics.multiprocess import ChildrenCollector, counting_folder
from turnwise.processes.metrics.server import Health
from turnwise.processes.moves import pinned_version
from turnwise.processes.observers import observers_of
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.serving.observer import Observer, Observers

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The record, the bus, the application, the metrics and the observers of one process."""

    database: Database
    store: Store
    bus: Bus
    app: App
    metrics: Metrics
    observers: Observers

    def close(self) -> None:
        """Let go of the database and the broker."""
        self.bus.close()
        self.database.close()
        # The parent of a prefork worker opens them only to see that they answer, and is summed with its children.
        self.metrics.database_connections_limit.set(0)


def broker_url(settings: ServiceSettings) -> str:
    """The broker's address; raises `ConfigurationError` if none is set."""
    if settings.broker_url is None:
        raise ConfigurationError(
            "TURNWISE_BROKER_URL is not set; the services find each other through a broker, for instance "
            "amqp://USER:PASSWORD@localhost:5672// or redis://localhost:6379/0 (without one, use `turnwise up`)"
        )
    return settings.broker_url.get_secret_value()


def check_shared_database(settings: ServiceSettings) -> None:
    """Raise `ConfigurationError` if the database is a file: another process, or machine, would have another one."""
    if settings.database_is_file:
        raise ConfigurationError(
            "TURNWISE_DATABASE_URL is not set, or names a file; the services share a PostgreSQL database, for instance "
            "postgresql://USER:PASSWORD@HOST:5432/turnwise (for one process, use `turnwise up`)"
        )


def wire_keys(settings: ServiceSettings) -> WireKeys:
    """Return what signs the messages of this installation; raises `ConfigurationError` for a key that is too short."""
    keys = [key.get_secret_value() for key in settings.wire_keys]
    return WireKeys.of(keys, accept_unsigned=settings.wire_accept_unsigned)


def tls_files(settings: ServiceSettings) -> TLSFiles:
    """The files for an encrypted connection to the broker."""
    return TLSFiles(ca=settings.broker_ca, cert=settings.broker_cert, key=settings.broker_key)


def open_store(settings: ServiceSettings, connections: int | None = None) -> tuple[Database, Store]:
    """The record, with its schema checked; raises `DatabaseUnavailableError`, `SchemaVersionError`.

    It has so many `connections` at most, by default as many as the settings say.
    """
    most = connections or settings.database_connections
    database = Database(settings.database_url, synchronous=settings.sqlite_synchronous, pool_size=most)
    try:
        database.check_schema()
    except BaseException:
        database.close()
        raise
    return database, Store(database, lease_seconds=settings.lease_seconds, tenant_weights=settings.tenant_weights)


def open_parts(settings: ServiceSettings, *, app: App | None = None, observers: Sequence[Observer] = ()) -> Parts:
    """Load the application, open record and bus, and see that both answer; `observers` join those of Turnwise.

    Raises `ApplicationError`, `ConfigurationError`, `DatabaseUnavailableError`, `SchemaVersionError`,
    `BrokerUnavailableError`.
    """
    url = broker_url(settings)
    application = app if app is not None else load_app(settings.app)
    check_shared_database(settings)
    database, store = open_store(settings)
    version = pinned_version(settings, application)
    bus = CeleryBus(
        url, version=version, keys=wire_keys(settings), tls=tls_files(settings), heartbeat=settings.broker_heartbeat
    )
    try:
        bus.check()
    except BaseException:
        bus.close()
        database.close()
        raise
    metrics = Metrics(CollectorRegistry(), (application.name, application.version))
    metrics.expect_tasks(application.tasks)
    watch_process(metrics.registry)
    watch_database(metrics, database.pool)
    watch_broker(metrics, bus.connections)
    told = observers_of(application, bus, metrics, *observers, clock=store.clock)
    store.call_after_commit(told.events_stored)
    return Parts(
        database=database,
        store=store,
        bus=bus,
        app=application,
        metrics=metrics,
        observers=told,
    )


def serve_own_metrics(
    settings: ServiceSettings, registry: CollectorRegistry, health: Health, alive: Health = lambda: (True, "ok")
) -> MetricsServer | None:
    """Metrics and probes on TURNWISE_METRICS_BIND, where it is set; raises `AddressInUseError`.

    In a prefork worker the children count, into the files of PROMETHEUS_MULTIPROC_DIR, and this serves their sum.
    """
    address = settings.metrics_address
    if address is None:
        return None
    folder = counting_folder()
    if folder is not None:
        registry = CollectorRegistry()
        ChildrenCollector(registry, folder)
        watch_process(registry)
    server = serve_metrics(registry, address[0], address[1], health, alive)
    told = f"{address[0]}:{server.port}"
    logger.info("Metrics and probes are at %s", told, extra={"action": "metrics_listening", "address": told})
    return server
