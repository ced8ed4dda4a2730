"""Messages that are published while turns are taken, as the broker itself tells them.

RabbitMQ copies every message of a virtual host to an exchange, once that is asked for.
"""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.messaging import Consumer
from tests.support.brokers import BrokerMissing, fresh_rabbitmq
from tests.support.databases import fresh_postgres

from bench import distributed, served
from bench.counting import turns_of
from bench.peers.figures import names

_TURNS, _CONVERSATIONS = 400, 4
_COPIES = Exchange("amq.rabbitmq.trace", type="topic", durable=True, passive=True, no_declare=True)
# Silence after which all copies have come.
_QUIET = 1.0


def measure() -> dict[str, float]:
    """Return messages for a turn of long conversations; raises `BrokerMissing` where they cannot be counted."""
    with (
        fresh_postgres() as database,
        fresh_rabbitmq() as broker,
        distributed.running(database, broker, services=distributed.TOGETHER) as services,
    ):
        served.play(services.store, services.bus, 10, 2)
        with published(broker) as count:
            served.play(services.store, services.bus, _TURNS, _CONVERSATIONS)
            messages = count()
    return {names.BROKER_MESSAGES: messages / (turns_of(_TURNS) * _CONVERSATIONS)}


@contextmanager
def published(broker_url: str) -> Iterator[Callable[[], int]]:
    """Count what is published on this virtual host from now on; the function returns the number so far."""
    vhost = urlsplit(broker_url).path[1:] or "/"
    _rabbitmqctl("trace_on", vhost)
    try:
        with Connection(broker_url) as connection:
            seen: list[str] = []

            def note(_body: object, message: Any) -> None:
                seen.append(message.delivery_info["routing_key"])

            copies = Queue("", _COPIES, routing_key="publish.#", exclusive=True, auto_delete=True)
            with Consumer(connection.channel(), [copies], callbacks=[note], no_ack=True, accept=None):

                def count() -> int:
                    with suppress(socket.timeout):
                        while True:
                            connection.drain_events(timeout=_QUIET)
                    return len(seen)

                yield count
    finally:
        _rabbitmqctl("trace_off", vhost)


def _rabbitmqctl(command: str, vhost: str) -> None:
    try:
        done = subprocess.run(["rabbitmqctl", "-q", command, "-p", vhost], capture_output=True, timeout=60, check=False)
    except FileNotFoundError as error:
        raise BrokerMissing("rabbitmqctl is not here, so messages cannot be counted") from error
    if done.returncode != 0:
        raise BrokerMissing(f"`rabbitmqctl {command}` failed: {done.stderr.decode(errors='replace').strip()}")
