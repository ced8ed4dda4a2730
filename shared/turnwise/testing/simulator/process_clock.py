"""The clock of a simulated process, which may be fast or slow, and shows another time than its neighbour's."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from turnwise.base.clock import Event, Thread
from turnwise.testing.simulator.actors import Actor, Host, Schedule


class ProcessClock:
    """A `Clock` in the time of a schedule, as one process sees it."""

    def __init__(self, schedule: Schedule, host: Host) -> None:
        self._schedule = schedule
        self._host = host

    def monotonic(self) -> float:
        return self._host.offset + self._schedule.now * self._host.rate

    def sleep(self, seconds: float) -> None:
        self._schedule.wait(seconds / self._host.rate)

    def event(self) -> Event:
        return _Flag(self._schedule, self._host)

    def start(self, name: str, work: Callable[[], None]) -> Thread:
        return _Joined(self._schedule, self._schedule.spawn(f"{self._host.name} {name}", self._host, work))


class _Flag:
    def __init__(self, schedule: Schedule, host: Host) -> None:
        self._schedule = schedule
        self._host = host
        self._raised = False
        self._waiting: list[Actor] = []

    def set(self) -> None:
        self._raised = True
        for actor in self._waiting:
            self._schedule.wake(actor)

    def clear(self) -> None:
        self._raised = False

    def is_set(self) -> bool:
        return self._raised

    def wait(self, timeout: float | None = None) -> bool:
        schedule = self._schedule
        end = inf if timeout is None else schedule.now + timeout / self._host.rate
        me = schedule.here().actor
        self._waiting.append(me)
        try:
            while not self._raised and schedule.now < end:
                schedule.wait(end - schedule.now)
        finally:
            self._waiting.remove(me)
        return self._raised


class _Joined:
    def __init__(self, schedule: Schedule, actor: Actor) -> None:
        self._schedule = schedule
        self._actor = actor

    def join(self, timeout: float | None = None) -> None:
        schedule = self._schedule
        end = inf if timeout is None else schedule.now + timeout
        self._actor.joiners.append(schedule.here().actor)
        while not self._actor.done and schedule.now < end:
            schedule.wait(end - schedule.now)

    def is_alive(self) -> bool:
        return not self._actor.done
