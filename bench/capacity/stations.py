"""The stations of the simulation: servers, an interpreter, and a log that many commits share."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import simpy

Steps = Generator[simpy.Event, Any, None]


class Station:
    """`servers` alike that serve first come, first served; a fraction makes the whole ones slower.

    Two and a half cores are three of five sixths of the speed: the same work a second.
    """

    def __init__(self, env: simpy.Environment, name: str, servers: float) -> None:
        if servers <= 0:
            raise ValueError(f"the station {name} has {servers} servers; it needs more than none")
        self.name = name
        self._env = env
        self._servers = math.ceil(servers)
        self._stretch = self._servers / servers
        self._resource = simpy.Resource(env, self._servers)
        self._busy = 0.0
        self._since = 0.0

    def serve(self, seconds: float) -> Steps:
        """Wait for a server, and hold it."""
        if seconds <= 0:
            return
        with self._resource.request() as turn:
            yield turn
            yield from self.hold(seconds)

    def hold(self, seconds: float) -> Steps:
        """Be busy for so long; for whoever has a server already."""
        held = seconds * self._stretch
        yield self._env.timeout(held)
        self._busy += held

    def request(self) -> Any:
        """A place at the station, as a context manager."""
        return self._resource.request()

    def forget(self) -> None:
        """Begin to count anew, after the warming up."""
        self._busy, self._since = 0.0, self._env.now

    def utilization(self) -> float:
        """The share of its time that was used since `forget`."""
        passed = self._env.now - self._since
        return self._busy / passed / self._servers if passed else 0.0


class Log:
    """A write-ahead log: a flush takes `flush` seconds, and `each` for every commit that it carries.

    Who comes while one is under way waits for the next, with all the others: a group commit.
    """

    def __init__(self, env: simpy.Environment, flush: float, each: float = 0.0) -> None:
        self.name = "log"
        self._env = env
        self._flush, self._each = flush, each
        self._waiting: list[simpy.Event] = []
        self._flushing = False
        self._busy = 0.0
        self._since = 0.0

    def commit(self) -> Steps:
        """Return when a flush that began after this call has ended."""
        done = self._env.event()
        self._waiting.append(done)
        if not self._flushing:
            self._flushing = True
            self._env.process(self._run())
        yield done

    def _run(self) -> Steps:
        while self._waiting:
            carried, self._waiting = self._waiting, []
            seconds = self._flush + self._each * len(carried)
            yield self._env.timeout(seconds)
            self._busy += seconds
            for commit in carried:
                commit.succeed()
        self._flushing = False

    def forget(self) -> None:
        """As with a station."""
        self._busy, self._since = 0.0, self._env.now

    def utilization(self) -> float:
        """Return the share of time with a flush under way: near 1 long before it is full, since flushes grow."""
        passed = self._env.now - self._since
        return self._busy / passed if passed else 0.0
