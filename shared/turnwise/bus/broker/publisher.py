"""One connection that publishes, and a pool of them for many threads."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from amqp.exceptions import MessageNacked
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError
from kombu.messaging import Producer

from turnwise.bus.broker import protocol
from turnwise.bus.broker.connections import Note
from turnwise.bus.broker.topology import (
    CANCELLATION_EXCHANGE,
    NOTICE_EXCHANGE,
    WATCH_EXCHANGE,
    WORK_EXCHANGE,
    text_exchange,
    work_queue,
)
from turnwise.bus.broker.url import ANSWER_TIMEOUT, CONNECT_TIMEOUT, BrokerURL
from turnwise.bus.envelope import Announcement, CancelNotice, Notice, Work
from turnwise.bus.signing import NO_KEYS, WireKeys
from turnwise.errors import BrokerUnavailableError

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds. An attempt that failed after so many was not refused, which kombu notices after 2: the broker was silent.
_HANGS = 3.0
_REST = 5.0

# Seconds before each further try with a message that RabbitMQ refused: a quorum queue does so while it has no leader,
# which takes a moment after it was declared or a node was lost.
_REFUSED_WAITS = (0.05, 0.2, 0.5)

# When a fault is to be forgotten, on the monotonic clock, and the error that is raised until then.
_Remembered = tuple[float, BrokerUnavailableError]


class Publisher:
    """A connection and a channel; used by one thread at a time. Raises what kombu raises."""

    def __init__(self, broker: BrokerURL, *, confirm: bool, keys: WireKeys = NO_KEYS) -> None:
        self._broker = broker
        self._keys = keys
        self._extra: dict[str, Any] = {}
        if broker.is_rabbitmq and confirm:
            self._extra = {"mandatory": True, "confirm_timeout": ANSWER_TIMEOUT}
        options = broker.publishing_options(confirm=confirm)
        self._connection = Connection(
            broker.url, connect_timeout=CONNECT_TIMEOUT, transport_options=options, ssl=broker.ssl_options
        )
        self._declared: set[str] = set()
        self.errors = self._connection.connection_errors + self._connection.channel_errors + (OperationalError,)
        try:
            self._connection.connect()
            self._open_channel()
        except BaseException:
            self.close()
            raise

    def send_work(self, queue: str, key: str, task: str, work: Work) -> None:
        """Publish a durable Celery message; on RabbitMQ returns when the broker has written it down."""
        self._declare(queue)
        message_id, body = protocol.new_message_id(), protocol.body(work)
        self._producer.publish(
            body,
            exchange=WORK_EXCHANGE.name,
            routing_key=key,
            content_type="application/json",
            content_encoding="utf-8",
            headers=protocol.headers(task, work, message_id) | self._keys.headers("work", key, body),
            correlation_id=message_id,
            delivery_mode=2,
            retry=False,
            **self._extra,
        )

    def send_notice(self, notice: Notice) -> None:
        """Publish to whoever listens now."""
        exchanges = [WATCH_EXCHANGE if isinstance(notice, Announcement) else NOTICE_EXCHANGE]
        if isinstance(notice, CancelNotice):
            exchanges.append(CANCELLATION_EXCHANGE)
        for exchange in exchanges:
            self._send_transient(exchange, "", notice)

    def send_to_listener(self, listener: str, notice: Notice) -> None:
        """Publish to one listener, if it is still there."""
        self._send_transient(text_exchange(routed=self._broker.is_rabbitmq), listener, notice)

    def _send_transient(self, exchange: Exchange, key: str, notice: Notice) -> None:
        self._declare_exchange(exchange)
        body = notice.model_dump_json()
        self._producer.publish(
            body,
            exchange=exchange.name,
            routing_key=key,
            content_type="application/json",
            content_encoding="utf-8",
            headers=self._keys.headers("notice", "", body),
            delivery_mode=1,
            retry=False,
        )

    def count(self, queue: str) -> int:
        """Messages ready in the queue; 0 where the broker knows no such queue (on Redis: an empty one)."""
        named: Queue = work_queue(queue, quorum=self._broker.is_rabbitmq)(self._channel)
        try:
            return int(named.queue_declare(passive=True).message_count)
        except self._connection.channel_errors as error:
            if str(getattr(error, "reply_code", "")) != "404":  # a number with one broker, text with the other
                raise
            if self._broker.is_rabbitmq:  # which closes the channel with this answer
                self._open_channel()
            return 0

    def verify(self) -> None:
        """Make one round trip: opens a channel of its own, and on Redis asks for an answer."""
        channel = self._connection.channel()
        try:
            if not self._broker.is_rabbitmq:
                channel.client.ping()
        finally:
            channel.close()

    def close(self) -> None:
        """Close the connection, also a broken one."""
        self._connection.release()

    def _open_channel(self) -> None:
        self._channel = self._connection.channel()
        returned = self._returned if self._broker.is_rabbitmq else None
        self._producer = Producer(self._channel, auto_declare=False, on_return=returned)
        self._declared.clear()

    def _declare(self, queue: str) -> None:
        if queue not in self._declared:
            work_queue(queue, quorum=self._broker.is_rabbitmq)(self._channel).declare()
            self._declared.add(queue)

    def _declare_exchange(self, exchange: Exchange) -> None:
        if exchange.name not in self._declared:
            exchange(self._channel).declare()
            self._declared.add(exchange.name)

    def _returned(self, error: Exception, exchange: str, key: str, message: object) -> None:
        # The ask is in the database: the sweeper publishes it again, and then the queue is declared anew.
        logger.warning(
            "The broker has no queue for %s; it is declared again with the next message",
            key,
            extra={"action": "message_returned", "exchange": exchange, "routing_key": key},
        )
        self._declared.clear()


class PublisherPool:
    """Publishers for any thread: at most `limit` at work at a time, each kept for the next."""

    def __init__(
        self, broker: BrokerURL, *, confirm: bool, limit: int, keys: WireKeys = NO_KEYS, note: Note = lambda up: None
    ) -> None:
        """`note` is told, after each use, whether the broker took it.

        A broker that hangs costs each message that is sent to it seconds: so for `_REST` seconds after one, `use` fails
        at once. The same holds for a queue that refuses its messages, and `send`.
        """
        self._note = note
        self._broker = broker
        self._confirm = confirm
        self._keys = keys
        self._slots = threading.BoundedSemaphore(limit)
        self._lock = threading.Lock()
        self._idle: list[Publisher] = []
        self._pid = os.getpid()
        self._hung: _Remembered | None = None
        self._refused: dict[str, _Remembered] = {}

    def send(self, queue: str, work: Callable[[Publisher], None]) -> None:
        """Call `work`, which publishes a message to the queue, with a publisher; again while RabbitMQ refuses it.

        Raises `BrokerUnavailableError` as `use` does, and if the message is still refused after 0.75 s: then at once
        for all messages to that queue, for `_REST` seconds.
        """
        _raise_remembered(self._refused.get(queue))
        for seconds in _REFUSED_WAITS:
            try:
                return self.use(work)
            except MessageNacked:
                time.sleep(seconds)
                self.close()  # RabbitMQ keeps refusing on a connection where it began
        try:
            return self.use(work)
        except MessageNacked as error:
            fault = self._broker.unavailable(error)
            self._refused[queue] = time.monotonic() + _REST, fault
            raise fault from error

    def use(self, work: Callable[[Publisher], T]) -> T:
        """Call `work` with a publisher; raises `BrokerUnavailableError` if a new connection fails as well.

        A kept connection may have died unnoticed, so its failure is tried once more on a fresh one: a message may be
        doubled, which does no harm.
        """
        if not self._slots.acquire(timeout=ANSWER_TIMEOUT):
            raise self._broker.unavailable(TimeoutError("all connections wait for it"))
        try:
            _raise_remembered(self._hung)
            kept = self._kept()
            if kept is not None:
                try:
                    return self._use(kept, work)
                except kept.errors as error:
                    self._note(False)
                    logger.info("A connection to the broker had died: %s", error, extra={"action": "reconnect"})
            return self._use_fresh(work)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close what is idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for publisher in idle:
            publisher.close()

    def _kept(self) -> Publisher | None:
        with self._lock:
            if self._pid != os.getpid():  # forked: the sockets are the parent's, not even to be closed here
                self._idle, self._pid = [], os.getpid()
            return self._idle.pop() if self._idle else None

    def _use_fresh(self, work: Callable[[Publisher], T]) -> T:
        self.close()  # the other kept ones are as old: they would fail one by one
        probe = Connection(self._broker.url)
        errors = probe.connection_errors + probe.channel_errors + (OperationalError,)
        began = time.monotonic()
        try:
            return self._use(Publisher(self._broker, confirm=self._confirm, keys=self._keys), work)
        except errors as error:
            self._note(False)
            fault = self._broker.unavailable(error)
            if (now := time.monotonic()) - began > _HANGS:
                self._hung = now + _REST, fault
            raise fault from error

    def _use(self, publisher: Publisher, work: Callable[[Publisher], T]) -> T:
        try:
            result = work(publisher)
        except BaseException:
            publisher.close()
            raise
        self._hung = None
        self._note(True)
        with self._lock:
            self._idle.append(publisher)
        return result


def _raise_remembered(fault: _Remembered | None) -> None:
    if fault is not None and time.monotonic() < fault[0]:
        raise BrokerUnavailableError(str(fault[1])) from fault[1]
