"""Finds what got lost, and puts it back on its way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from turnwise.base.clock import Thread
from turnwise.base.ids import new_id
from turnwise.base.process_end import ends_process
from turnwise.bus.base import Bus
from turnwise.bus.routing import lane, work_queues
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError, EnvironmentFault, NotFoundError
from turnwise.machine.state import STATE_VERSION
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.pausing import tell_let_go
from turnwise.serving.moves.permits import permit
from turnwise.serving.observer import Observer
from turnwise_coordinator.schedules import ScheduleSweep

logger = logging.getLogger(__name__)


# How many permits a sweep gives to asks that wait for a provider.
_IN_LINE = 100


class SweepPart(Protocol):
    """Work that each sweep does beside its own."""

    def sweep(self) -> None:
        """Do what there is to do now."""
        ...


class Sweeper:
    """A thread that looks every `sweep_seconds` for lapsed leases, overdue moves and lost permits.

    A sweep ends with the work of `parts`, in their order. `schedules` are carried out as they are due, between sweeps.

    Any coordinator may sweep; a lease row per queue keeps two from topping up the same queue at once. With `version`,
    it looks after runs of that version. While it is `paused` it makes no moves, and continues with the rest.
    """

    def __init__(
        self,
        record: CoordinatorRole,
        bus: Bus,
        move: Callable[[str], Any],
        dispatcher: Dispatcher,
        observers: Observer,
        settings: ServiceSettings,
        parts: Sequence[SweepPart],
        schedules: ScheduleSweep,
        *,
        version: str | None = None,
        paused: Callable[[], bool] = lambda: False,
    ) -> None:
        self._paused = paused
        self._parts = [part.sweep for part in parts]
        self._schedules = schedules
        self._record = record
        self._bus = bus
        self._move = move
        self._dispatcher = dispatcher
        self._observers = observers
        self._interval = settings.sweep_seconds
        self._version = version
        self._queues = work_queues(settings.llm_queues, settings.agent_queues)
        self._holder = new_id("swp")
        self._clock = record.clock
        self._stopping = self._clock.event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin, after one lease of grace for workers that were cut off."""
        self._record.wait_one_lease()
        self._thread = self._clock.start("turnwise-sweeper", self._work)

    def stop(self) -> None:
        """End; returns when the pass that runs is over."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def sweep(self) -> None:
        """One pass; raises at once if the database is away, and what else a part has met after all have had a turn.

        So the broker that is away, a table that may not be written, or an error of one part keeps no other part from
        its work.
        """
        trouble: Exception | None = None
        for part in (
            self._take_over,
            self._record.count_left_usage,
            self._tell_let_go,
            self._make_moves,
            self._wake_forgotten,
            *self._parts,
        ):
            try:
                part()
            except DatabaseUnavailableError as error:
                self._record.now()  # raises if the database is away, and not for this part alone
                trouble = trouble or error
            except Exception as error:  # noqa: BLE001 - raised below
                trouble = trouble or error
        if trouble is not None:
            raise trouble

    def _take_over(self) -> None:
        taken = self._record.expire_leases()
        if taken:
            self._observers.leases_expired(taken)
            for ask in taken:
                self._dispatcher.publish(permit(ask))

    def _tell_let_go(self) -> None:
        tell_let_go(self._record, self._dispatcher)

    def _make_moves(self) -> None:
        if self._paused():
            return
        for run_id in self._record.due_moves(version=self._version, state=STATE_VERSION):
            try:
                self._make_move(run_id)
            except DatabaseUnavailableError as error:
                # It may be this run's alone: a rule of the application that takes longer than a transaction may rest.
                # So the database is asked, which raises if it is away.
                self._record.now()
                logger.warning("A move was cut off: %s", error, extra={"action": "move_cut_off", "run": run_id})

    def _wake_forgotten(self) -> None:
        for queue in self._queues:
            if self._record.sweep_lease(lane(queue, self._version), self._holder, self._interval * 3):
                waiting = self._bus.waiting(queue)
                permits = self._record.permits(queue, waiting, version=self._version)
                # A message that waits in the queue is a permit for those in line, too.
                in_line = self._record.next_in_line(queue, _IN_LINE, version=self._version)[waiting:]
                self._dispatcher.publish_all([*permits, *in_line])

    def _make_move(self, run_id: str) -> None:
        try:
            self._move(run_id)
        except NotFoundError as error:
            logger.warning("A run vanished before its move: %s", error, extra={"action": "run_vanished"})
        except (DatabaseUnavailableError, BrokerUnavailableError):
            raise
        except Exception:
            # One run that cannot be moved must not keep the sweeper from all the others.
            logger.exception("The run %s could not be moved", run_id, extra={"action": "move_failed", "run": run_id})

    def _work(self) -> None:
        """Sweep at intervals, and between sweeps whenever a tick of a schedule is due."""
        next_sweep = self._clock.monotonic() + self._interval
        while not self.sleep(min(next_sweep - self._clock.monotonic(), self._schedules.seconds_left)):
            self._guarded(self._schedules.sweep)
            if self._clock.monotonic() >= next_sweep:
                self._guarded(self.sweep)
                next_sweep = self._clock.monotonic() + self._interval

    def sleep(self, seconds: float) -> bool:
        """Wait so long, and return whether the sweeper is to end.

        After a longer sleep than that, leases have one lease of grace: workers may have been stopped as well.
        """
        began = self._clock.monotonic()
        ending = self._stopping.wait(seconds)
        self._record.wait_one_lease(self._clock.monotonic() - began - max(0.0, seconds))
        return ending

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except EnvironmentFault as error:
            logger.warning("This sweep found something away: %s", error, extra={"action": "sweep_failed"})
        except BaseException as error:
            # The sweeper is what repairs everything else, so nothing may end it.
            if ends_process(error):
                raise
            logger.exception("A sweep failed", extra={"action": "sweep_crashed"})
