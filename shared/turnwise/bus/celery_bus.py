"""The bus of a distributed installation: RabbitMQ or Redis, with Celery workers at the other end."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

from turnwise.bus.base import OnNotice
from turnwise.bus.broker.connections import BrokerConnections
from turnwise.bus.broker.listener import Listener
from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.broker.publisher import Publisher, PublisherPool
from turnwise.bus.broker.url import HEARTBEAT, BrokerURL, TLSFiles
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope, Notice
from turnwise.bus.routing import COORDINATOR_QUEUE, lane, routing_key
from turnwise.bus.signing import NO_KEYS, WireKeys
from turnwise.errors import BrokerUnavailableError
from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.context import current_ids
from turnwise.observability.telemetry.spans import NO_SPAN, listened, span

# Connections to the broker that one process may hold for publishing work, and as many again for notices.
_MAX_CONNECTIONS = 8


class CeleryBus:
    """A `Bus` that writes what Celery workers read; connects when it is first used.

    Work is published durable, and on RabbitMQ confirmed and `mandatory`. Notices are transient and unconfirmed.
    With `version`, asks and moves go to processes of that version alone. With `keys`, messages are signed. Listeners
    send heartbeats every `heartbeat` seconds. Connections that publish ask for none, because they are idle for long and
    limit the time of each operation.
    """

    def __init__(
        self,
        url: str,
        *,
        version: str | None = None,
        keys: WireKeys = NO_KEYS,
        tls: TLSFiles | None = None,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        self._broker = BrokerURL.parse(url, tls)
        self._version = version
        self._keys = keys
        self._heartbeat = heartbeat
        self.connections = BrokerConnections()
        noted = self.connections.note
        self._work = PublisherPool(
            self._broker, confirm=True, limit=_MAX_CONNECTIONS, keys=keys, note=partial(noted, "publish")
        )
        self._notices = PublisherPool(
            self._broker, confirm=False, limit=_MAX_CONNECTIONS, keys=keys, note=partial(noted, "notify")
        )
        self._listeners: list[Listener] = []

    def publish_ask(self, envelope: AskEnvelope) -> None:
        """Publish to the envelope's queue, declaring it if need be."""
        queue = lane(envelope.queue, self._version)
        key = routing_key(queue, envelope.agent)
        with self._sending(queue):
            self._work.send(queue, lambda publisher: publisher.send_work(queue, key, ANSWER_TASK, envelope))

    def wake(self, run: str, version: str | None = None) -> None:
        """Publish a move to the coordinators' queue."""
        move = MoveEnvelope(run=run)
        queue = lane(COORDINATOR_QUEUE, version or self._version)
        key = routing_key(queue, "move")
        with self._sending(queue):
            self._work.send(queue, lambda publisher: publisher.send_work(queue, key, MOVE_TASK, move))

    def _sending(self, queue: str) -> AbstractContextManager[Any]:
        """Around the sending of work, where something is traced that it belongs to: a sweep's messages are not."""
        if current_ids() is None or not listened():
            return NO_SPAN
        told = {
            names.MESSAGING_SYSTEM: "rabbitmq" if self._broker.is_rabbitmq else "redis",
            names.MESSAGING_OPERATION: names.SEND,
            names.MESSAGING_TYPE: names.SEND,
            names.MESSAGING_DESTINATION: queue,
        }
        return span(f"{names.SEND} {queue}", told, kind="PRODUCER")

    def notify(self, notice: Notice) -> None:
        """Publish to the fan-out."""
        self._notices.use(lambda publisher: publisher.send_notice(notice))

    def tell(self, listener: str, notice: Notice) -> None:
        """Publish to the queue of one listener."""
        self._notices.use(lambda publisher: publisher.send_to_listener(listener, notice))

    def listen(self, callback: OnNotice, *, as_worker: bool = False) -> Listener:
        """Subscribe to the fan-out and to what is sent here alone, or to the fan-outs for workers."""
        listener = Listener(
            self._broker,
            callback,
            self._keys,
            as_worker=as_worker,
            heartbeat=self._heartbeat,
            note=self._note_listening,
        )
        self._listeners.append(listener)
        return listener

    def _note_listening(self, up: bool) -> None:
        """Note it; a listener that is back tells that the broker is, so what failed to publish is tried again.

        A process that has nothing to publish would say that the broker is away until it has.
        """
        self.connections.note("listen", up)
        if up and (self.connections.failed("publish") or self.connections.failed("notify")):
            # On a thread of its own: the listener's does nothing that could delay its heartbeats.
            threading.Thread(target=self._try_again, name="turnwise-broker-check", daemon=True).start()

    def _try_again(self) -> None:
        for purpose, publishers in (("publish", self._work), ("notify", self._notices)):
            if self.connections.failed(purpose):
                with suppress(BrokerUnavailableError):  # it is noted, and raised where something is published
                    publishers.use(Publisher.verify)

    def waiting(self, queue: str) -> int:
        """Ready messages: a passive declaration on RabbitMQ, the length of the list on Redis."""
        return self._work.use(lambda publisher: publisher.count(lane(queue, self._version)))

    def check(self) -> None:
        """Make one round trip to the broker."""
        self._work.use(Publisher.verify)

    def close(self) -> None:
        """Stop the listeners, close the connections."""
        for listener in self._listeners:
            listener.ask_to_stop()
        for listener in self._listeners:
            listener.close()
        self._work.close()
        self._notices.close()
