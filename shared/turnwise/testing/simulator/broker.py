"""A broker that loses, doubles, delays and reorders what it is given, and the bus of one process to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from turnwise.bus.base import OnNotice
from turnwise.bus.envelope import (
    Announcement,
    AskEnvelope,
    CancelNotice,
    MoveEnvelope,
    Notice,
    RunNotice,
    TextNotice,
    TokenNotice,
    Work,
    parse_envelope,
)
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.errors import BrokerUnavailableError
from turnwise.testing.simulator.actors import Actor, Host, Schedule
from turnwise.testing.simulator.world import World

_LATE = (0.1, 1.0, 3.0, 8.0)


@dataclass
class _Message:
    due: float
    text: str


class SimulatedBroker:
    """The queues of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._queues: dict[str, list[_Message]] = {}
        self._takers: list[Actor] = []
        self._listeners: list[_Listening] = []
        self._numbers = count(1)

    def put(self, queue: str, text: str) -> None:
        """Keep a message for one taker, as far as messages are kept."""
        for due in self._fates(text):
            self._queues.setdefault(queue, []).append(_Message(due, text))
        self.wake_takers()

    def take(self, queues: Sequence[str], host: Host) -> Work | None:
        """The next message of `queues`, waiting for it; None once the process is told to end."""
        schedule = self.world.schedule
        me = schedule.here().actor
        self._takers.append(me)
        try:
            while not host.ending:
                found = self._found(queues)
                if found is not None:
                    return found
                schedule.wait(self._next_due(queues) - schedule.now)
            return None
        finally:
            self._takers.remove(me)

    def wake_takers(self) -> None:
        """Let everybody who waits for a message look again."""
        for actor in self._takers:
            self.world.schedule.wake(actor)

    def waiting(self, queue: str) -> int:
        """Messages that may be taken."""
        return sum(message.due <= self.world.schedule.now for message in self._queues.get(queue, ()))

    def restart(self) -> None:
        """Lose everything that is on the way."""
        self._queues.clear()

    def tell(self, notice: Notice) -> None:
        """Pass a notice on to who listens."""
        text = notice.model_dump_json()
        for listening in list(self._listeners):
            if isinstance(notice, CancelNotice) or isinstance(notice, Announcement) == listening.as_worker:
                self._pass_on(listening, text)

    def tell_one(self, address: str, notice: Notice) -> None:
        """Pass a notice on to one who listens."""
        text = notice.model_dump_json()
        for listening in list(self._listeners):
            if listening.address == address:
                self._pass_on(listening, text)

    def _pass_on(self, listening: _Listening, text: str) -> None:
        for due in self._fates(text):
            listening.put(due, text)

    def listen(self, host: Host, callback: OnNotice, as_worker: bool) -> _Listening:
        """Call `callback` with each notice, on an actor of the process."""
        listening = _Listening(self, host, callback, as_worker, f"listener{next(self._numbers)}")
        self._listeners.append(listening)
        return listening

    def forget(self, listening: _Listening) -> None:
        """Stop passing messages on to it."""
        if listening in self._listeners:
            self._listeners.remove(listening)

    def _fates(self, text: str) -> list[float]:
        """Return when the message arrives; never, once, or twice."""
        world = self.world
        if world.happens("message_lost"):
            world.tell(f"lost: {text}")
            return []
        now = world.schedule.now
        due = now + (world.random.choice(_LATE) if world.happens("message_late") else 0.0)
        return [due, now + world.random.choice(_LATE)] if world.happens("message_doubled") else [due]

    def _found(self, queues: Sequence[str]) -> Work | None:
        now = self.world.schedule.now
        for queue in queues:
            due = [message for message in self._queues.get(queue, ()) if message.due <= now]
            if due:
                chosen = due[0] if len(due) == 1 else self.world.random.choice(due)
                self._queues[queue].remove(chosen)
                envelope = parse_envelope(json.loads(chosen.text))
                assert isinstance(envelope, (AskEnvelope, MoveEnvelope))
                return envelope
        return None

    def _next_due(self, queues: Sequence[str]) -> float:
        return min((message.due for queue in queues for message in self._queues.get(queue, ())), default=inf)


class SimulatedBus:
    """The `Bus` of one process."""

    def __init__(self, broker: SimulatedBroker, host: Host) -> None:
        self._broker = broker
        self._world = broker.world
        self._host = host

    def publish_ask(self, envelope: AskEnvelope) -> None:
        self._send(envelope.queue, envelope)

    def wake(self, run: str, version: str | None = None) -> None:
        self._send(COORDINATOR_QUEUE, MoveEnvelope(run=run))

    def notify(self, notice: Notice) -> None:
        self._reach("a notice")
        self._broker.tell(notice)

    def tell(self, listener: str, notice: Notice) -> None:
        self._reach("a notice")
        self._broker.tell_one(listener, notice)

    def listen(self, callback: OnNotice, *, as_worker: bool = False) -> _Listening:
        return self._broker.listen(self._host, callback, as_worker)

    def waiting(self, queue: str) -> int:
        self._reach("a count")
        return self._broker.waiting(queue)

    def check(self) -> None:
        self._reach("a check")

    def close(self) -> None:
        """Nothing is held."""

    def _send(self, queue: str, envelope: Work) -> None:
        self._world.step(f"publish to {queue}")
        self._reach(f"a message to {queue}")
        self._broker.put(queue, envelope.model_dump_json())

    def _reach(self, what: str) -> None:
        if self._world.happens("broker_restart"):
            self._world.tell("the broker restarts and forgets all messages")
            self._broker.restart()
        if self._world.happens("broker_away"):
            self._world.tell(f"the broker does not take {what}")
            raise BrokerUnavailableError("the simulated broker is away")


class _Listening:
    """A subscription to the notices."""

    def __init__(self, broker: SimulatedBroker, host: Host, callback: OnNotice, as_worker: bool, address: str) -> None:
        self.as_worker = as_worker
        self.address = address
        self._broker = broker
        self._schedule: Schedule = broker.world.schedule
        self._callback = callback
        self._notices: list[_Message] = []
        self._open = True
        self._actor = self._schedule.spawn(f"{host.name} listener", host, self._work)

    def wait_ready(self, timeout: float) -> bool:
        """Always ready."""
        return True

    def close(self) -> None:
        """Stop listening."""
        self._open = False
        self._broker.forget(self)
        self._schedule.wake(self._actor)

    def put(self, due: float, text: str) -> None:
        """Hear this at `due`."""
        self._notices.append(_Message(due, text))
        self._actor.ready_at = min(self._actor.ready_at, due)

    def _work(self) -> None:
        try:
            while self._open:
                now = self._schedule.now
                for message in [message for message in self._notices if message.due <= now]:
                    self._notices.remove(message)
                    notice = parse_envelope(json.loads(message.text))
                    assert isinstance(notice, (CancelNotice, RunNotice, TextNotice, TokenNotice, Announcement))
                    self._callback(notice)
                following = min((message.due for message in self._notices), default=inf)
                self._schedule.wait(following - self._schedule.now)
        finally:
            self._broker.forget(self)
