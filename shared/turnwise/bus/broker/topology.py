"""Exchanges and queues as kombu objects, the same for whoever declares them first."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import uuid

from kombu.entity import Exchange, Queue

from turnwise.bus.routing import CANCELLATIONS, EXCHANGE, NOTICES, TEXTS, WATCHES, binding_key

WORK_EXCHANGE = Exchange(EXCHANGE, type="topic", durable=True)
NOTICE_EXCHANGE = Exchange(NOTICES, type="fanout", durable=False, delivery_mode="transient")

# Cancellations once more, for workers: of all notices they need no others.
CANCELLATION_EXCHANGE = Exchange(CANCELLATIONS, type="fanout", durable=False, delivery_mode="transient")
# Which runs are watched, for workers.
WATCH_EXCHANGE = Exchange(WATCHES, type="fanout", durable=False, delivery_mode="transient")


def text_exchange(*, routed: bool) -> Exchange:
    """Carries text to the one listener whose address is the routing key.

    On Redis only a fan-out is a publication that is gone if no one subscribes; kombu makes the key part of its channel.
    """
    return Exchange(TEXTS, type="direct" if routed else "fanout", durable=False, delivery_mode="transient")


def work_queue(name: str, *, quorum: bool) -> Queue:
    """A durable work queue; a quorum queue on RabbitMQ, where every declaration must ask for the same."""
    arguments = {"x-queue-type": "quorum"} if quorum else None
    key = binding_key(name)
    return Queue(name, exchange=WORK_EXCHANGE, routing_key=key, durable=True, queue_arguments=arguments)


def notice_queue(exchange: Exchange, key: str = "") -> Queue:
    """A listener's own queue, gone with its connection."""
    name = f"{exchange.name}.{uuid.uuid4().hex}"
    return Queue(name, exchange=exchange, routing_key=key, durable=False, exclusive=True, auto_delete=True)
