"""The answers that this process is working on, and the notice that one of them is no longer wanted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from turnwise.base.cancellation import Cancellation, Cause
from turnwise.base.clock import Thread
from turnwise.bus.base import Bus, Subscription
from turnwise.bus.envelope import Announcement, CancelNotice, Notice
from turnwise.errors import EnvironmentFault
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.records import Claim

logger = logging.getLogger(__name__)

# Seconds between two looks into the record, for cancellations of which no notice came and leases that were lost.
_POLL = 0.75
_CAUSES = {"ended": Cause.KILLED, "lost": Cause.LOST}


class InFlight:
    """Cancels what is being worked on for a run that ended, or under a lease that was lost.

    A notice tells of a cancellation at once; the record is looked at for the rest, once for all that takes long.
    """

    def __init__(self, store: WorkerRole, bus: Bus, heard_of_watch: Callable[[Announcement], None]) -> None:
        self._store, self._bus = store, bus
        self._heard_of_watch = heard_of_watch
        self._clock = store.clock
        self._stopping = self._clock.event()
        self._lock = threading.Lock()
        self._works: dict[Cancellation, tuple[Claim, float]] = {}
        self._subscription: Subscription | None = None
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to listen and to look, each on a thread of its own."""
        self._subscription = self._bus.listen(self.heard, as_worker=True)
        self._thread = self._clock.start("turnwise-in-flight", self._work)

    def stop(self) -> None:
        """End both; what is being worked on continues."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        if self._subscription is not None:
            self._subscription.close()

    def work(self, claim: Claim) -> _ClaimWork:
        """The time in which the claim is worked on, and what cuts it short; the run's deadline does, too."""
        return _ClaimWork(self, claim)

    def begin(self, claim: Claim) -> Cancellation:
        """Note that the claim is worked on, and return what cancels that."""
        due, run = None, claim.run
        if run.deadline_at is not None and claim.ask.claimed_at is not None:
            due = max(0.0, run.deadline_at - claim.ask.claimed_at)
        cancellation = Cancellation(seconds=due, clock=self._clock)
        with self._lock:
            self._works[cancellation] = (claim, self._clock.monotonic())
        return cancellation

    def end(self, cancellation: Cancellation) -> None:
        """Note that the work under this cancellation is over."""
        with self._lock:
            del self._works[cancellation]

    def cut(self) -> None:
        """Cancel all answers in hand, so that their asks are released."""
        with self._lock:
            works = list(self._works)
        for work in works:
            work.cancel(Cause.DRAINED)

    def heard(self, notice: Notice) -> None:
        """Look at once what is still wanted of a run of which a cancellation is told; the notice alone ends nothing.

        One process has one listener, so a notice of what is watched comes here as well, and is passed on.
        """
        if isinstance(notice, Announcement):
            self._heard_of_watch(notice)
        if not isinstance(notice, CancelNotice):
            return
        with self._lock:
            meant = [(work, claim) for work, (claim, _) in self._works.items() if claim.run.id == notice.run]
        try:
            self._drop_unwanted(meant)
        except EnvironmentFault as error:
            logger.warning("Could not see what is still wanted: %s", error, extra={"action": "look_failed"})

    def look(self) -> None:
        """Cancel the answers that, as the record says, are no longer wanted; raises `DatabaseUnavailableError`."""
        now = self._clock.monotonic()
        with self._lock:
            # What began just now needs no look: most answers are there before the next one.
            long = [(work, claim) for work, (claim, since) in self._works.items() if now - since >= _POLL]
        self._drop_unwanted(long)

    def _drop_unwanted(self, held: list[tuple[Cancellation, Claim]]) -> None:
        if not held:
            return
        works = {(claim.ask.run_id, claim.ask.id, claim.token): work for work, claim in held}
        for claim, why in self._store.unwanted([claim for _, claim in held]):
            works[claim.ask.run_id, claim.ask.id, claim.token].cancel(_CAUSES[why])

    def _work(self) -> None:
        while not self._stopping.wait(_POLL):
            try:
                self.look()
            except EnvironmentFault as error:
                logger.warning("Could not see what is still wanted: %s", error, extra={"action": "look_failed"})
            except Exception:
                # The thread has to live as long as the process, or cancelled work would continue to its end.
                logger.exception("A look at what is wanted failed", extra={"action": "look_crashed"})


class _ClaimWork:
    """A class, because this is around every answer, and a generator's block costs four times as much."""

    __slots__ = ("_cancellation", "_claim", "_in_flight")

    def __init__(self, in_flight: InFlight, claim: Claim) -> None:
        self._in_flight = in_flight
        self._claim = claim

    def __enter__(self) -> Cancellation:
        self._cancellation = self._in_flight.begin(self._claim)
        return self._cancellation

    def __exit__(self, *_: object) -> None:
        self._in_flight.end(self._cancellation)
