"""Looks at queues as they are at the broker; declares nothing and binds nothing."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amqp.exceptions import AccessRefused, MessageNacked
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from kombu.messaging import Producer

from turnwise.bus.broker import protocol
from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.broker.topology import WORK_EXCHANGE, work_queue
from turnwise.bus.broker.url import ANSWER_TIMEOUT, CONNECT_TIMEOUT, BrokerURL, TLSFiles
from turnwise.bus.envelope import Work
from turnwise.bus.routing import routing_key
from turnwise.bus.signing import WireKeys


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    """A work queue at the broker.

    `consumers` and `bound` are None where the broker does not tell: Redis has no queue that is empty. `bound` is
    whether a message for the queue arrived in one. `other_kind` is the broker's complaint about a queue that was
    declared otherwise than Turnwise does.
    """

    name: str
    kind: str
    exists: bool = True
    waiting: int = 0
    consumers: int | None = None
    bound: bool | None = None
    other_kind: str = ""


def look(url: str, tls: TLSFiles, keys: WireKeys, probes: Mapping[str, Work | None]) -> tuple[str, list[QueueState]]:
    """The broker's URL for people, and the queues; the probe of a queue, if it has one, is published to it.

    Raises `BrokerUnavailableError`, and `ConfigurationError` for a URL of no use.
    """
    broker = BrokerURL.parse(url, tls)
    connection = Connection(
        broker.url,
        connect_timeout=CONNECT_TIMEOUT,
        transport_options=broker.publishing_options(confirm=True),
        ssl=broker.ssl_options,
    )
    try:
        connection.connect()
        seen = _on_rabbitmq if broker.is_rabbitmq else _on_redis
        return broker.safe, [seen(connection, keys, name, probe) for name, probe in probes.items()]
    except (*connection.connection_errors, *connection.channel_errors, OperationalError, MessageNacked) as error:
        raise broker.unavailable(error) from error
    finally:
        connection.release()


def _on_redis(connection: Connection, _keys: WireKeys, name: str, _probe: Work | None) -> QueueState:
    with connection.channel() as channel:
        return QueueState(name=name, kind="a list", waiting=int(channel.client.llen(name)))


def _on_rabbitmq(connection: Connection, keys: WireKeys, name: str, probe: Work | None) -> QueueState:
    found = _declared(connection, name, passive=True)
    if isinstance(found, str):
        return QueueState(name=name, kind="", exists=False)
    # Declared again as it should be, which changes nothing about one that is there, and fails if it is another.
    again = _declared(connection, name, passive=False)
    if isinstance(again, str):
        return QueueState(name=name, kind="", other_kind=again)
    bound = _arrives(connection, keys, name, probe) if probe is not None else None
    return QueueState(
        name=name, kind="a quorum queue", waiting=found.message_count, consumers=found.consumer_count, bound=bound
    )


def _declared(connection: Connection, name: str, *, passive: bool) -> Any:
    """The broker's answer to a declaration; the text of its refusal, which closes the channel."""
    channel = connection.channel()
    try:
        return work_queue(name, quorum=True)(channel).queue_declare(passive=passive)
    except AccessRefused:  # which says nothing of the queue
        raise
    except connection.channel_errors as error:
        return str(error)
    finally:
        if channel.is_open:
            channel.close()


def _arrives(connection: Connection, keys: WireKeys, name: str, probe: Work) -> bool:
    """Return whether a message that is published for the queue is not given back; returns once the broker has
    confirmed.
    """
    returned = []
    channel = connection.channel()
    key, text, message_id = routing_key(name, "doctor"), protocol.body(probe), protocol.new_message_id()
    producer = Producer(channel, auto_declare=False, on_return=lambda *given: returned.append(given))
    try:
        producer.publish(
            text,
            exchange=WORK_EXCHANGE.name,
            routing_key=key,
            content_type="application/json",
            content_encoding="utf-8",
            headers=protocol.headers(MOVE_TASK if probe.kind == "move" else ANSWER_TASK, probe, message_id)
            | keys.headers("work", key, text),
            correlation_id=message_id,
            delivery_mode=2,
            retry=False,
            mandatory=True,
            confirm_timeout=ANSWER_TIMEOUT,
        )
    except AccessRefused:
        raise
    except connection.channel_errors:  # there is no such exchange
        return False
    finally:
        if channel.is_open:
            channel.close()
    return not returned
