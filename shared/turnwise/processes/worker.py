"""The Celery application of a service that consumes queues; a gateway, which consumes none, does not load Celery."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.app import load_app
from turnwise.bus.routing import lane
from turnwise.bus.worker.celery_app import CeleryApp, make_celery
from turnwise.observability.logs import configure_logging, tell_uncaught
from turnwise.processes.bootstrap import broker_url, tls_files, wire_keys
from turnwise.processes.settings import ServiceSettings


def worker_app(name: str, settings: ServiceSettings, queues: Sequence[str], prefetch_multiplier: int = 1) -> CeleryApp:
    """The Celery application of a service that consumes `queues`, as the settings say.

    Raises `ConfigurationError` if no broker is set, and `ApplicationError` if the application is needed and does not
    load.
    """

    def set_up_logs() -> None:
        configure_logging(settings.log_format, settings.log_level)
        tell_uncaught()

    return make_celery(
        name,
        broker_url(settings),
        [served_lane(settings, queue) for queue in queues],
        keys=wire_keys(settings),
        tls=tls_files(settings),
        prefetch_multiplier=prefetch_multiplier,
        set_up_logs=set_up_logs,
        heartbeat=settings.broker_heartbeat,
    )


def served_lane(settings: ServiceSettings, queue: str) -> str:
    """Return what this process consumes for `queue`: where runs are pinned, the messages for its application's version.

    Raises `ApplicationError` if the application is needed for that and does not load.
    """
    return lane(queue, load_app(settings.app).version) if settings.pinned else queue
