"""Makes the moves of runs, and sweeps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.errors import DatabaseUnavailableError, NotFoundError, RunChangedError, UnwritableError
from turnwise.processes.moves import mover_of, pinned_version
from turnwise.processes.settings import ServiceSettings
from turnwise.record.runs.wait_facts import COORDINATOR
from turnwise.record.store import Store
from turnwise.record.values.kept_errors import RaisedError
from turnwise.serving.bus_watch import BusWatch
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.foreign_messages import ForeignMessages
from turnwise.serving.incarnation import Incarnation
from turnwise.serving.moves.move import fail
from turnwise.serving.moves.moved import Moved
from turnwise.serving.moves.run_end import error_record
from turnwise.serving.moves.versions import is_held_for_newer
from turnwise.serving.observer import Observers
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise.serving.webhooks.sending import HttpSender, WebhookSender
from turnwise_coordinator.batches import Batches
from turnwise_coordinator.budgets import BudgetSweep
from turnwise_coordinator.retention import RetentionSweep
from turnwise_coordinator.samples import SampleSweep
from turnwise_coordinator.schedules import ScheduleSweep
from turnwise_coordinator.slow_moves import SlowMoves
from turnwise_coordinator.sweeper import Sweeper
from turnwise_coordinator.webhooks import Courier

logger = logging.getLogger(__name__)


class Coordinator:
    """One coordinator of an installation; any number may run, and each may die at any point.

    It signs on like a worker, so that others see that it lives; it holds nothing that a lease would release. While it
    is `paused` it leaves moves to other coordinators. Webhooks go over HTTP unless `send_webhook` is given.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        app: App,
        settings: ServiceSettings,
        observers: Observers,
        *,
        paused: Callable[[], bool] = lambda: False,
        send_webhook: WebhookSender | None = None,
    ) -> None:
        self._is_paused = paused
        self._record = record = store.coordinator
        self._observers = observers
        self._slow_moves = SlowMoves(store.clock)
        version = pinned_version(settings, app)
        self._dispatcher = Dispatcher(bus, version=version)
        self._mover = mover_of(settings, app, observers)
        self._batches = Batches(record, self._dispatcher, settings, observers)
        self._courier = Courier(record, settings, observers, send_webhook or _over_http(settings))
        self._sweeper = Sweeper(
            record,
            bus,
            self._swept,
            self._dispatcher,
            observers,
            settings,
            # In this order: the items of a batch that may begin wait for no deletions.
            (
                self._batches,
                RetentionSweep(record, settings, observers),
                BudgetSweep(record, settings),
                SampleSweep(record, settings),
                self._courier,
            ),
            ScheduleSweep(record, self._dispatcher, app, settings, observers),
            version=version,
            paused=self._paused,
        )
        self.hearing = BusWatch(store.clock, settings.deaf_seconds)
        self._foreign = ForeignMessages(store.clock)
        self._incarnation = Incarnation(
            store.process, COORDINATOR, [COORDINATOR_QUEUE], app.version, settings.beat_seconds, settings.lease_seconds
        )

    def move(self, run_id: str, *, wait: bool = True) -> Moved:
        """Make the run's moves until someone outside has to act; harmless if there is nothing to do.

        The run is locked meanwhile, so no reply and no cancellation can come in unseen: whoever writes one afterwards
        wakes a coordinator. Raises `NotFoundError` for an unknown run, `DatabaseUnavailableError` while the database
        is away (the sweeper comes back to it) and, unless it is to `wait`, `RunChangedError` while another transaction
        has the run, or what it needs.
        """
        with self._observers.around_move(run_id):
            began, locked_at = self._record.clock.monotonic(), None
            try:
                with self._record.locked(run_id, wait=wait) as tx:
                    locked_at = self._record.clock.monotonic()
                    moved = self._mover.move(tx)
            except UnwritableError as error:
                moved = self._end(run_id, replace(error_record(error, place="move"), code=error.code), wait=wait)
            except DatabaseUnavailableError:
                too_slow = self._slow_moves.cut_off(run_id, locked_at)
                if too_slow is None:
                    raise
                moved = self._end(run_id, error_record(too_slow, place="move"), wait=wait)
            self._slow_moves.made(run_id)
            seconds = self._record.clock.monotonic() - began
            self._dispatcher.moved(moved)
            self._observers.moved(moved, seconds)
        return moved

    def _end(self, run_id: str, error: RaisedError, *, wait: bool) -> Moved:
        """End a run whose move no database can keep: made again, it would be the same move."""
        logger.error("A move of run %s cannot be kept: %s", run_id, error.message, extra={"action": "move_refused"})
        with self._record.locked(run_id, wait=wait) as tx:
            if tx.run.ended:
                return Moved(run=tx.run)
            fail(tx, error)
            tx.mark()
            return Moved(run=tx.run, ended=True, next_run=tx.run_after())

    def woken(self, run_id: str) -> Moved | None:
        """`move`, because a message said so; None while this coordinator is paused, and for an unknown run."""
        if self._paused():
            return None
        self.hearing.heard()
        self._incarnation.note_deaf(False)  # no sweep finds more that would say so
        try:
            moved = self.move(run_id)
        except NotFoundError:
            self._foreign.tell(run_id)
            return None
        if moved.run.ended and not moved.ended:  # its end was told of, so that the next item of its batch begins
            self._batches.run_ended(moved.run)
        return moved

    def _swept(self, run_id: str) -> None:
        """`move`, because a sweep found that no one has; a message should have told of it, unless time alone did.

        While another transaction has the run, or its session, it is left to the next sweep: this one has others to see
        to.
        """
        run = self._record.run(run_id)
        if run.move_due_at is not None and not is_held_for_newer(run):
            self.hearing.missed()
        self._incarnation.note_deaf(self.hearing.deaf_for() is not None)
        with suppress(RunChangedError):
            self.move(run_id, wait=False)

    def _paused(self) -> bool:
        paused = self._is_paused()
        if paused:
            self.hearing.rest()
            self._incarnation.note_deaf(False)
        return paused

    def sweep(self) -> None:
        """Look once for what got lost, as is done at intervals from `start` on; raises what a part has met."""
        self._sweeper.sweep()

    def start(self) -> None:
        """Sign on, and begin to sweep, each on a thread of its own; raises `DatabaseUnavailableError`."""
        self._incarnation.start()
        self._sweeper.start()

    def stop(self) -> None:
        """Stop sweeping; returns when the last pass is over, and the requests that it has begun."""
        self._sweeper.stop()
        self._courier.stop()
        self._incarnation.stop()


def _over_http(settings: ServiceSettings) -> WebhookSender:
    rules = AddressRules(tuple(settings.webhook_allowed_networks), settings.webhook_allow_http)
    return HttpSender(rules, settings.webhook_timeout)
