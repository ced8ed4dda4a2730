"""Helpers of the contract tests of the bus: each kind of bus, and a way to see the outcome of a message."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pytest
from kombu.connection import Connection
from kombu.message import Message
from kombu.messaging import Consumer
from tests.support.brokers import BrokerMissing, fresh_rabbitmq, fresh_redis

from turnwise.bus.base import Bus
from turnwise.bus.broker.topology import work_queue
from turnwise.bus.broker.url import BrokerURL
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import AskEnvelope, Work, parse_envelope
from turnwise.bus.in_process import InProcessBus


@contextmanager
def broker(kind: str) -> Iterator[str]:
    """The URL of an empty `rabbitmq` or `redis`; skips the test where none can be had, except in CI."""
    fresh = fresh_rabbitmq() if kind == "rabbitmq" else fresh_redis()
    try:
        url = fresh.__enter__()
    except BrokerMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    try:
        yield url
    finally:
        fresh.__exit__(None, None, None)


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait until the condition holds, and return whether it came to."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.01)
    return True


def an_ask(queue: str, agent: str = "Triage", **changes: object) -> AskEnvelope:
    """An ask like any other, to be put into `queue`."""
    values: dict[str, object] = {"run": "run_1", "ask": f"ask_{uuid.uuid4().hex}", "queue": queue, "agent": agent}
    values |= {"responder": "llm", "task": "triage", "turn": 1, "document": {"content": "My invoice is wrong."}}
    return AskEnvelope.model_validate(values | changes)


class Taker(Protocol):
    """Starts a consumer of one queue that appends what it gets to a list; the returned function stops it."""

    def __call__(self, queue: str, taken: list[Work]) -> Callable[[], None]: ...


@dataclass(frozen=True, kw_only=True)
class BusUnderTest:
    """A bus, with a way to consume from it; `prefix` keeps the queues of one test from those of the others."""

    bus: Bus
    prefix: str
    consume: Taker

    def queue(self, name: str) -> str:
        """A queue that no other test uses."""
        return f"{name}-{self.prefix}"


@contextmanager
def in_process() -> Iterator[BusUnderTest]:
    """The bus of the embedded server."""
    bus = InProcessBus()

    def consume(queue: str, taken: list[Work]) -> Callable[[], None]:
        consumption = bus.consume([queue], taken.append, threads=1)

        def stop() -> None:
            assert consumption.stop(10)

        return stop

    yield BusUnderTest(bus=bus, prefix=uuid.uuid4().hex[:8], consume=consume)
    bus.close()


@contextmanager
def over_broker(url: str) -> Iterator[BusUnderTest]:
    """The bus over a broker, consumed with kombu as Celery would."""
    bus = CeleryBus(url)

    def consume(queue: str, taken: list[Work]) -> Callable[[], None]:
        return _consume(url, queue, taken)

    yield BusUnderTest(bus=bus, prefix=uuid.uuid4().hex[:8], consume=consume)
    bus.close()


def _consume(url: str, queue: str, taken: list[Work]) -> Callable[[], None]:
    stopping, started = threading.Event(), threading.Event()

    def receive(message: Message) -> None:
        ((argument,), _, _) = message.decode()
        envelope = parse_envelope(argument)
        assert isinstance(envelope, Work)
        taken.append(envelope)
        message.ack()

    def run() -> None:
        named = work_queue(queue, quorum=BrokerURL.parse(url).is_rabbitmq)
        with Connection(url) as connection, Consumer(connection.channel(), queues=[named], on_message=receive):
            started.set()
            while not stopping.is_set():
                try:
                    connection.drain_events(timeout=0.1)
                except TimeoutError:
                    continue

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(10)

    def stop() -> None:
        stopping.set()
        thread.join()

    return stop
