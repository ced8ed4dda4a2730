"""What a service of the distributed set is made of; each process calls this once, and passes the parts on."""

from __future__ import annotations

import os
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from turnwise.app import App, load_app
from turnwise.bus.base import Bus
from turnwise.bus.celery_bus import CeleryBus
from turnwise.errors import ConfigurationError
from turnwise.metrics import Metrics, MetricsServer, serve_metrics
from turnwise.metrics.server import Health
from turnwise.runs.database import Database
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The record, the bus, the application and the metrics of one process."""

    database: Database
    store: Store
    bus: Bus
    app: App
    metrics: Metrics

    def close(self) -> None:
        """Let go of the database and the broker."""
        self.bus.close()
        self.database.close()


def broker_url(settings: ServiceSettings) -> str:
    """The broker's address; raises `ConfigurationError` if none is set."""
    if settings.broker_url is None:
        raise ConfigurationError(
            "TURNWISE_BROKER_URL is not set; the services find each other through a broker, for instance "
            "amqp://guest:guest@localhost:5672// or redis://localhost:6379/0 (without one, use `turnwise up`)"
        )
    return settings.broker_url.get_secret_value()


def open_store(settings: ServiceSettings) -> tuple[Database, Store]:
    """The record, with its schema checked; raises `DatabaseUnavailableError`, `SchemaVersionError`."""
    database = Database(settings.database_url, synchronous=settings.sqlite_synchronous)
    database.check_schema()
    return database, Store(database, lease_seconds=settings.lease_seconds)


def open_parts(settings: ServiceSettings, *, app: App | None = None) -> Parts:
    """Load the application, open record and bus, and see that both answer.

    Raises `ApplicationError`, `ConfigurationError`, `DatabaseUnavailableError`, `SchemaVersionError`,
    `BrokerUnavailableError`.
    """
    url = broker_url(settings)
    application = app if app is not None else load_app(settings.app)
    database, store = open_store(settings)
    bus = CeleryBus(url)
    try:
        bus.check()
    except BaseException:
        bus.close()
        database.close()
        raise
    return Parts(database=database, store=store, bus=bus, app=application, metrics=Metrics(CollectorRegistry()))


def serve_own_metrics(settings: ServiceSettings, registry: CollectorRegistry, health: Health) -> MetricsServer | None:
    """Metrics and probes on TURNWISE_METRICS_BIND, where it is set; raises `AddressInUseError`.

    In a prefork worker the children count, into the files of PROMETHEUS_MULTIPROC_DIR, and this serves their sum.
    """
    address = settings.metrics_address
    if address is None:
        return None
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return serve_metrics(registry, address[0], address[1], health)
