"""The bus of a distributed installation: RabbitMQ or Redis, with Celery workers at the other end."""

from __future__ import annotations

from turnwise.bus.base import OnNotice
from turnwise.bus.broker_url import BrokerURL
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope, Notice
from turnwise.bus.listener import Listener
from turnwise.bus.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.publisher import Publisher, PublisherPool
from turnwise.bus.routing import COORDINATOR_QUEUE, routing_key

# Connections to the broker that one process may hold for publishing work, and as many again for notices.
_MAX_CONNECTIONS = 8


class CeleryBus:
    """A `Bus` that writes what Celery workers read; connects when it is first used.

    Work is published durable, and on RabbitMQ confirmed and `mandatory`. Notices are transient and unconfirmed.
    """

    def __init__(self, url: str, *, connections: int = _MAX_CONNECTIONS) -> None:
        self._broker = BrokerURL.parse(url)
        self._work = PublisherPool(self._broker, confirm=True, limit=connections)
        self._notices = PublisherPool(self._broker, confirm=False, limit=connections)
        self._listeners: list[Listener] = []

    def publish_ask(self, envelope: AskEnvelope) -> None:
        """Publish to the envelope's queue, declaring it if need be."""
        key = routing_key(envelope.queue, envelope.agent)
        self._work.use(lambda publisher: publisher.send_work(envelope.queue, key, ANSWER_TASK, envelope))

    def wake(self, run: str) -> None:
        """Publish a move to the coordinators' queue."""
        move = MoveEnvelope(run=run)
        key = routing_key(COORDINATOR_QUEUE, "move")
        self._work.use(lambda publisher: publisher.send_work(COORDINATOR_QUEUE, key, MOVE_TASK, move))

    def notify(self, notice: Notice) -> None:
        """Publish to the fan-out."""
        self._notices.use(lambda publisher: publisher.send_notice(notice))

    def listen(self, callback: OnNotice) -> Listener:
        """Subscribe to the fan-out."""
        listener = Listener(self._broker, callback)
        self._listeners.append(listener)
        return listener

    def waiting(self, queue: str) -> int:
        """Ready messages: a passive declaration on RabbitMQ, the length of the list on Redis."""
        return self._work.use(lambda publisher: publisher.count(queue))

    def check(self) -> None:
        """One round trip to the broker."""
        self._work.use(Publisher.verify)

    def close(self) -> None:
        """Stop the listeners, close the connections."""
        for listener in self._listeners:
            listener.ask_to_stop()
        for listener in self._listeners:
            listener.close()
        self._work.close()
        self._notices.close()
