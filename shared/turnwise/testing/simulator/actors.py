"""Actors that pass a baton: threads of which one runs at a time, in simulated time, in an order that a seed decides.

An actor gives the baton away where it waits, and nowhere else. So between two waits nothing else happens, and the same
seed gives the same order of everything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from math import inf
from random import Random

from turnwise.base.process_end import ProcessKilled

# Seconds of simulated time that any step takes at most.
_STEP = 0.004


class Host:
    """The owner of actors: a simulated process, or the world outside of all of them.

    `rate` is how fast its clock goes, `offset` what it began with. While it is `frozen_until` a later time, it does
    nothing at all, as a process that is stopped or swapped out. One that is `ending` takes no more work.
    """

    def __init__(self, name: str, *, rate: float = 1.0, offset: float = 0.0) -> None:
        self.name = name
        self.rate = rate
        self.offset = offset
        self.dead = False
        self.ending = False
        self.frozen_until = 0.0


class Actor:
    """A thread of control; it runs while it has the baton, and is ready to take it from `ready_at` on."""

    def __init__(self, name: str, host: Host, ready_at: float) -> None:
        self.name = name
        self.host = host
        self.ready_at = ready_at
        self.done = False
        self.joiners: list[Actor] = []
        self.baton = threading.Lock()
        self.baton.acquire()

    def wakes_at(self) -> float:
        """Return when it can continue; an actor of a dead process continues at once, to its end."""
        if self.host.dead:
            return 0.0
        return max(self.ready_at, self.host.frozen_until)


@dataclass(frozen=True)
class Place:
    """The actor and its process: a client's request is its own thread in the gateway's process."""

    actor: Actor
    host: Host


_place: ContextVar[Place | None] = ContextVar("turnwise_simulated_place", default=None)


class Schedule:
    """The order in which actors act. Made on the thread that becomes its first actor, the `director`."""

    def __init__(self, random: Random, *, stay: float = 0.5) -> None:
        self.random = random
        self.now = 0.0
        self.switches = 0
        self.failures: list[tuple[str, BaseException]] = []
        self._stay = stay
        self._threads: list[threading.Thread] = []
        self.director = Actor("director", Host("director"), 0.0)
        self._actors = [self.director]

    @contextmanager
    def directed(self) -> Iterator[None]:
        """Let this thread be the director; at the end every other actor is unwound."""
        token = _place.set(Place(self.director, self.director.host))
        try:
            yield
        finally:
            self._end()
            _place.reset(token)

    def spawn(self, name: str, host: Host, work: Callable[[], None], after: float = 0.0) -> Actor:
        """A new actor, which begins `work` when it gets the baton, not before `after` seconds from now."""
        actor = Actor(name, host, self.now + after)
        context = copy_context()
        thread = threading.Thread(
            target=context.run, args=(self._act, actor, work), name=f"simulated {name}", daemon=True
        )
        self._actors.append(actor)
        self._threads.append(thread)
        thread.start()
        return actor

    def names(self) -> list[str]:
        """The actors that there are."""
        return [actor.name for actor in self._actors]

    def here(self) -> Place:
        """Return who acts now."""
        place = _place.get()
        assert place is not None, "only an actor acts in simulated time"
        return place

    @contextmanager
    def within(self, host: Host) -> Iterator[None]:
        """Let the actor act for another process; `ProcessKilled` if that dies meanwhile."""
        actor = self.here().actor
        own = actor.host
        token = _place.set(Place(actor, host))
        actor.host = host
        try:
            yield
        finally:
            actor.host = own
            _place.reset(token)

    def wait(self, seconds: float = 0.0) -> None:
        """Let others act; continue in `seconds`, or when someone sets `ready_at` to an earlier time."""
        place = self.here()
        me = place.actor
        self.now += self.random.random() * _STEP
        me.ready_at = self.now + seconds
        following = self._next(me)
        if following is not me:
            self.switches += 1
            following.baton.release()
            me.baton.acquire()
        if place.host.dead:
            raise ProcessKilled(place.host.name)

    def wake(self, actor: Actor) -> None:
        """Let an actor continue that waits for something which is there now."""
        actor.ready_at = min(actor.ready_at, self.now)

    def _next(self, me: Actor | None) -> Actor:
        ready = self._ready()
        if not ready:
            self.now = min(actor.wakes_at() for actor in self._actors)
            assert self.now < inf, "every actor waits for ever"
            ready = self._ready()
        if len(ready) == 1:
            return ready[0]
        if me is not None and self.random.random() < self._stay and me in ready:
            return me
        return ready[int(self.random.random() * len(ready))]

    def _ready(self) -> list[Actor]:
        """The actors whose `wakes_at` has come; written out, because a schedule asks this of 20 actors 200 times."""
        now = self.now
        return [
            actor
            for actor in self._actors
            if actor.host.dead or (actor.ready_at <= now and actor.host.frozen_until <= now)
        ]

    def _act(self, actor: Actor, work: Callable[[], None]) -> None:
        actor.baton.acquire()
        _place.set(Place(actor, actor.host))
        try:
            if not actor.host.dead:
                work()
        except ProcessKilled:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever ends an actor is told, and the others continue
            self.failures.append((actor.name, error))
        finally:
            actor.done = True
            self._actors.remove(actor)
            for joiner in actor.joiners:
                self.wake(joiner)
            self._next(None).baton.release()

    def _end(self) -> None:
        """Unwind every actor, one after the other."""
        while others := [actor for actor in self._actors if actor is not self.director]:
            for actor in others:
                actor.host.dead = True
            # The director waits until the others are gone, so the one that ends hands on to another, or to it.
            self.director.ready_at = self.now
            others[0].baton.release()
            self.director.baton.acquire()
        for thread in self._threads:
            thread.join(20)
        # Something may remember a clock, and the clock its schedule.
        self._threads.clear()
