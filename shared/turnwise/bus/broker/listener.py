"""Hears the fan-out of a broker, on a thread that connects again whenever it has to."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import logging
import threading
import uuid
from contextlib import suppress

from kombu.connection import Connection
from kombu.entity import Queue
from kombu.exceptions import OperationalError
from kombu.message import Message
from kombu.messaging import Consumer

from turnwise.bus.base import OnNotice
from turnwise.bus.broker.connections import Note
from turnwise.bus.broker.heartbeats import Pulse
from turnwise.bus.broker.topology import (
    CANCELLATION_EXCHANGE,
    NOTICE_EXCHANGE,
    WATCH_EXCHANGE,
    notice_queue,
    text_exchange,
)
from turnwise.bus.broker.url import CONNECT_TIMEOUT, HEARTBEAT, BrokerURL
from turnwise.bus.delivery import Delivery
from turnwise.bus.signing import NO_KEYS, WireKeys
from turnwise.bus.worker.message_check import notice_in
from turnwise.errors import InvalidRequestError

logger = logging.getLogger(__name__)

# Seconds. Closing waits for one poll at most.
_POLL = 0.5
_LONGEST_CLOSE = 5.0
_RETRY_FIRST = 0.2
_RETRY_LAST = 5.0


class Listener:
    """A `Subscription` over a broker.

    The thread that reads the connection does nothing else, so no callback delays its heartbeats. A half-open
    connection is noticed after two intervals of `heartbeat` seconds.
    """

    def __init__(
        self,
        broker: BrokerURL,
        callback: OnNotice,
        keys: WireKeys = NO_KEYS,
        *,
        as_worker: bool = False,
        heartbeat: float = HEARTBEAT,
        note: Note = lambda up: None,
    ) -> None:
        self._note = note
        self._broker = broker
        self._keys = keys
        self._heartbeat = heartbeat
        self._as_worker = as_worker
        # Part of a channel's name on Redis, where some characters have a meaning.
        self.address = uuid.uuid4().hex
        self._delivery = Delivery(callback)
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turnwise-listener", daemon=True)
        self._thread.start()

    def wait_ready(self, timeout: float) -> bool:
        """Wait until this listener is subscribed."""
        return self._ready.wait(timeout)

    def ask_to_stop(self) -> None:
        """Stop soon; returns at once."""
        self._stopping.set()

    def close(self) -> None:
        """Stop, within about half a second; within five where the broker hangs."""
        self.ask_to_stop()
        if self._thread is not threading.current_thread():
            self._thread.join(_LONGEST_CLOSE)  # a daemon's, which may wait for a broker that hangs
        self._delivery.close()

    def _run(self) -> None:
        delay = _RETRY_FIRST
        while not self._stopping.is_set():
            connection = Connection(
                self._broker.url,
                connect_timeout=CONNECT_TIMEOUT,
                heartbeat=self._heartbeat,
                ssl=self._broker.ssl_options,
                transport_options=self._broker.consuming_options(),
            )
            errors = connection.connection_errors + connection.channel_errors + (OperationalError,)
            try:
                self._hear(connection)
            except errors as error:
                self._note(False)
                if self._ready.is_set():
                    delay = _RETRY_FIRST
                logger.warning(
                    "Notices are not heard, next try in %.1f s: %s",
                    delay,
                    self._broker.unavailable(error),
                    extra={"action": "listener_disconnected"},
                )
            except Exception:
                # What a stranger publishes may break a client library; the thread has to outlive it.
                self._note(False)
                logger.exception("Notices are not heard", extra={"action": "listener_failed"})
            else:
                connection.release()
            finally:
                self._ready.clear()
                # Unlike `release`, it does not wait for the broker's farewell, which may never come after an error.
                connection.collect()
            self._stopping.wait(delay)
            delay = min(2 * delay, _RETRY_LAST)

    def _hear(self, connection: Connection) -> None:
        connection.connect()
        with Consumer(connection.channel(), queues=self._queues(), on_message=self._receive, no_ack=True):
            first, pulse = True, Pulse(connection, self._heartbeat)
            while not self._stopping.is_set():
                with suppress(TimeoutError):
                    # On Redis, the subscription itself is sent by the first poll.
                    connection.drain_events(timeout=0.05 if first else min(_POLL, pulse.pause))
                pulse.keep()
                if first:
                    first = False
                    self._note(True)
                    self._ready.set()

    def _queues(self) -> list[Queue]:
        """New ones for each connection, because a broker may not have noticed yet that the last one is gone."""
        if self._as_worker:
            return [notice_queue(CANCELLATION_EXCHANGE), notice_queue(WATCH_EXCHANGE)]
        own = text_exchange(routed=self._broker.is_rabbitmq)
        return [notice_queue(NOTICE_EXCHANGE), notice_queue(own, self.address)]

    def _receive(self, message: Message) -> None:
        try:
            notice = notice_in(message, self._keys)
        except InvalidRequestError as error:
            logger.warning("A notice is ignored: %s", error, extra={"action": "notice_ignored"})
            return
        self._delivery.put(notice)
