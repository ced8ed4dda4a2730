"""The Celery application of a worker: how the services want Celery to behave, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from celery import Celery, signals

from turnwise.bus.broker.topology import work_queue
from turnwise.bus.broker.url import CONNECT_TIMEOUT, HEARTBEAT, BrokerURL, TLSFiles
from turnwise.bus.routing import EXCHANGE
from turnwise.bus.signing import NO_KEYS, WireKeys
from turnwise.bus.worker.outage import left_to_a_sweep
from turnwise.bus.worker.queue_switches import QueueSwitches
from turnwise.errors import ConfigurationError


def make_celery(
    name: str,
    broker_url: str,
    queues: Sequence[str],
    *,
    keys: WireKeys = NO_KEYS,
    tls: TLSFiles | None = None,
    prefetch_multiplier: int = 1,
    transport_options: Mapping[str, Any] | None = None,
    heartbeat: float = HEARTBEAT,
    set_up_logs: Callable[[], None] | None = None,
) -> Celery:
    """A Celery application for workers that consume some of `queues` (`-Q` chooses; a queue not named is refused).

    `prefetch_multiplier` times the concurrency is what a worker takes beyond what it works on: 1 where an answer takes
    seconds, more where one takes milliseconds (a solo pool with a small prefetch stalls for seconds on RabbitMQ).
    Where `keys` have to sign every message, commands from the broker (`celery inspect`, `control`) are not taken,
    because no one signs them. Raises `ConfigurationError` for an unknown broker, or if `transport_options` turn
    publisher confirms off.
    """
    broker = BrokerURL.parse(broker_url, tls)
    options = {**broker.consuming_options(), **(transport_options or {})}
    if broker.is_rabbitmq and not options.get("confirm_publish"):
        raise ConfigurationError(
            "confirm_publish is off in the broker's transport options, so RabbitMQ could lose what it has accepted; "
            "leave it out or set it to True"
        )
    app = Celery(name, broker=broker.url, set_as_current=False)
    app.conf.update(
        broker_transport_options=options,
        task_queues=[work_queue(queue, quorum=broker.is_rabbitmq) for queue in queues],
        worker_prefetch_multiplier=prefetch_multiplier,
        worker_enable_remote_control=not keys.required,
        broker_use_ssl=broker.ssl_options,
        broker_heartbeat=heartbeat,
        **_EVERYWHERE,
    )
    if set_up_logs is not None:
        # Celery, started by its own command, would set up lines of another form.
        signals.setup_logging.connect(lambda **_: set_up_logs(), weak=False)
    app.turnwise_keys, app.turnwise_broker = keys, broker  # for `WorkConsumer`
    app.turnwise_switches = QueueSwitches(queues)  # before any fork; see `switches_of`
    return app


CeleryApp: TypeAlias = Celery
Handler: TypeAlias = Callable[[dict[str, Any]], None]


def task(app: CeleryApp, name: str) -> Callable[[Handler], Handler]:
    """Decorate the function that gets each envelope published under `name`; known to this application alone."""

    def register(handler: Handler) -> Handler:
        app.task(name=name, shared=False)(left_to_a_sweep(name)(handler))
        return handler

    return register


_EVERYWHERE: dict[str, Any] = {
    # Nothing is ever unpickled.
    "task_protocol": 2,
    "task_serializer": "json",
    "result_serializer": "json",
    "event_serializer": "json",
    "accept_content": ["json"],
    # The database is the record; a message is acknowledged as soon as a worker starts on it.
    "result_backend": None,
    "task_ignore_result": True,
    "task_acks_late": False,
    # An unknown queue would be made with another type and binding, and then no one could declare the right one.
    "task_create_missing_queues": False,
    "task_default_exchange": EXCHANGE,
    "task_default_exchange_type": "topic",
    "worker_detect_quorum_queues": True,
    # What flower and the Celery exporters read.
    "worker_send_task_events": False,
    "task_send_sent_event": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # RabbitMQ closes a channel, and not the connection, when it refuses what a worker needs; that may be granted again.
    "broker_channel_error_retry": True,
    "broker_connection_timeout": CONNECT_TIMEOUT,
    # Logging and the terminal are the service's business.
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_consumer": "turnwise.bus.worker.consumer:WorkConsumer",
    "enable_utc": True,
    "timezone": "UTC",
}
