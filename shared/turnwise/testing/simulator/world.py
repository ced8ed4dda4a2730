"""The parts that all simulated processes share: the schedule, the faults, the story of what happened."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random

from turnwise.base.process_end import ProcessKilled
from turnwise.errors import DatabaseUnavailableError
from turnwise.testing.simulator.actors import Host, Schedule
from turnwise.testing.simulator.faults import Faults

# 2026-01-01, the moment at which every schedule begins, in seconds since the epoch.
EPOCH = 1_767_225_600.0
_PAUSES = (0.05, 0.3, 1.0, 4.0)
_FREEZES = (0.5, 3.0, 7.0, 12.0)
_OUTAGES = (0.5, 2.0, 6.0)
_OPENS = ("begin", "read", "statement", "flush", "_lock_run", "_locked", "locked", "_on_known")
_HIDDEN = frozenset({*_OPENS, "__enter__", "__exit__", "__next__"})


class World:
    """One schedule's world. Every place where something may go wrong calls it."""

    def __init__(self, random: Random, faults: Faults) -> None:
        self.random = random
        self.faults = faults
        self.schedule = Schedule(random, stay=random.choice((0.2, 0.5, 0.8)))
        self.story: list[tuple[float, str, str]] = []
        self.counts: Counter[str] = Counter()
        self.commit_points = 0
        self.calls = 0
        self.killed_at: Counter[str] = Counter()
        self.on_kill: Callable[[Host], None] = lambda host: None
        self.on_stop: Callable[[Host], None] = lambda host: None
        self.after_each_commit: Callable[[str], None] | None = None
        self._left = faults.most
        self._database_back = 0.0
        self._ids = 0
        self.in_transaction = False
        self.faulty: list[str] = []

    # --- telling ---

    def tell(self, what: str) -> None:
        """Note what the actor does, for the story of a schedule that failed."""
        place = self.schedule.here()
        name = (
            place.actor.name
            if place.actor.name.startswith(place.host.name)
            else f"{place.host.name} {place.actor.name}"
        )
        self.story.append((self.schedule.now, name, what))

    def time_of_day(self) -> float:
        """Seconds since the epoch by the database's clock."""
        return EPOCH + self.schedule.now

    def new_id(self) -> str:
        """The digits of the next id; they sort by age."""
        self._ids += 1
        return f"{int(self.time_of_day() * 1_000):012x}7{0:03x}8{self._ids:015x}"

    def calm(self) -> None:
        """Nothing goes wrong from now on."""
        self._left = 0

    # --- what may go wrong ---

    def happens(self, kind: str) -> bool:
        """Return whether a fault of this kind happens now."""
        chance: float = getattr(self.faults, kind)
        if not chance or not self._left or self.schedule.now >= self.faults.until:
            return False
        if self.random.random() >= chance:
            return False
        self._left -= 1
        self.counts[kind] += 1
        return True

    def step(self, what: str) -> None:
        """The actor is about to do something: others may come first, and its process may be stopped here."""
        if self.in_transaction:
            self.faulty.append(f"within a transaction somebody would: {what}")
            return
        host = self.schedule.here().host
        pause = 0.0
        if self._left:
            if self.happens("freeze"):
                seconds = self.random.choice(_FREEZES)
                self.tell(f"the process is frozen for {seconds} s, before: {what}")
                host.frozen_until = self.schedule.now + seconds
            if self.happens("slow"):
                pause = self.random.choice(_PAUSES)
            if self.happens("kill"):
                self.kill(host, f"before: {what}")
            if self.happens("stop"):
                self.tell(f"the process is told to end, before: {what}")
                self.on_stop(host)
        self.schedule.wait(pause)

    def kill(self, host: Host, where: str) -> None:
        """Kill a process, here; the actors of a process that is not killed continue."""
        if host.name.startswith("clients"):
            return
        self.tell(f"KILLED {where}")
        self.killed_at[where] += 1
        host.dead = True
        self.on_kill(host)
        raise ProcessKilled(host.name)

    # --- transactions ---

    def begin(self, what: str) -> None:
        """A transaction is about to begin; raises `DatabaseUnavailableError` if the database is away."""
        self.step(what)
        if self.schedule.now < self._database_back:
            self.schedule.wait(0.05)
            raise DatabaseUnavailableError("the simulated database is away")
        if self.happens("outage"):
            seconds = self.random.choice(_OUTAGES)
            self.tell(f"the database goes away for {seconds} s, before: {what}")
            self._database_back = self.schedule.now + seconds
            raise DatabaseUnavailableError("the simulated database goes away")
        if self.happens("database_away"):
            self.tell(f"the database does not answer to: {what}")
            raise DatabaseUnavailableError("the simulated database does not answer")

    def before_commit(self, what: str) -> None:
        """All is written, nothing is committed: what goes wrong here undoes the transaction."""
        self._commit_point(f"before commit: {what}", "kill_before_commit")
        if self.happens("commit_lost"):
            self.tell(f"the database does not take the commit of: {what}")
            raise DatabaseUnavailableError("the simulated database did not commit")

    def after_commit(self, what: str) -> None:
        """It is committed, and no one knows of it."""
        self.tell(what)
        if self.after_each_commit is not None:
            self.after_each_commit(what)
        self._commit_point(f"after commit: {what}", "kill_after_commit")
        lost = self.happens("answer_lost")
        self.schedule.wait()
        if lost:
            self.tell(f"the answer to the commit is lost: {what}")
            raise DatabaseUnavailableError("the simulated database's answer was lost")

    def _commit_point(self, where: str, kind: str) -> None:
        number = self.commit_points
        self.commit_points += 1
        if number in self.faults.kill_at or self.happens(kind):
            self.kill(self.schedule.here().host, where)


def caller() -> str:
    """Return what a transaction is for: the function that wanted it."""
    frame = sys._getframe(2)
    while frame is not None and (frame.f_code.co_name in _HIDDEN or frame.f_code.co_filename.endswith("contextlib.py")):
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_code.co_name
