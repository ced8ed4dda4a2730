"""Carries out what schedules say, and puts those of this process's code into force."""

from __future__ import annotations

import logging

from turnwise.app import App
from turnwise.errors import EnvironmentFault
from turnwise.processes.new_runs import run_of_tick
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.lock_waits import PATIENCE
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.schedules.firing import Firing, ScheduleToLookAt
from turnwise.record.schedules.schedule import ScheduleRecord
from turnwise.record.values.records import NewRun
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)

# Seconds for which a tick is left to coordinators whose application has its task; after them it is refused.
_FOREIGN_PATIENCE = 10.0
# Looks at one schedule in a row, so that a long list of missed ticks holds no one up.
_IN_A_ROW = 100
# Seconds between two looks whether this version's schedules should be in force.
_DECLARE_SECONDS = 5.0
# Seconds between two looks at least: clocks of process and database need not agree, and a look too early finds nothing.
_SHORTEST = 0.01


class ScheduleSweep:
    """Any coordinator may do it at any time: the database says whose tick it is."""

    def __init__(
        self,
        record: CoordinatorRole,
        dispatcher: Dispatcher,
        app: App,
        settings: ServiceSettings,
        observers: Observer,
    ) -> None:
        self._record = record
        self._dispatcher = dispatcher
        self._app = app
        self._settings = settings
        self._observers = observers
        self._clock = record.clock
        self._starting = True
        self._declare_at = self._next = self._clock.monotonic()

    @property
    def seconds_left(self) -> float:
        """Seconds until the next tick that this process knows of is due, at most those until the next sweep."""
        return max(0.0, self._next - self._clock.monotonic())

    def sweep(self) -> None:
        """Carry out what is due; raises `DatabaseUnavailableError`."""
        now = self._clock.monotonic()
        self._next = now + self._settings.sweep_seconds
        if now >= self._declare_at:
            self._declare()
            self._declare_at = now + _DECLARE_SECONDS
        found, seconds = self._record.schedules_to_look_at()
        slow: set[str] = set()  # each is waited for once, so that one of them does not take up the sweep
        for one in found:
            if self._is_mine(one) and self._look_at(one, 0.0 if one.tenant in slow else PATIENCE):
                slow.add(one.tenant)
        if seconds is not None:
            self._next = min(self._next, self._clock.monotonic() + max(seconds, _SHORTEST))

    def _is_mine(self, one: ScheduleToLookAt) -> bool:
        """Return whether this process need not leave it to one that has its task, of another version."""
        foreign = one.version in (None, self._app.version) and one.task not in self._app.tasks
        return not foreign or one.late >= _FOREIGN_PATIENCE

    def _look_at(self, one: ScheduleToLookAt, patience: float) -> bool:
        """Carry out a schedule, and return whether it was postponed: a submission of its tenant takes long."""
        try:
            for _ in range(_IN_A_ROW):
                fired = self._fire(one, patience)
                if fired == "postponed":
                    return True
                if fired is None or not fired.again:
                    break
        except EnvironmentFault:
            raise
        except Exception:
            # One schedule that cannot be carried out must not keep the others.
            extra = {"action": "schedule_failed", "schedule": one.id}
            logger.exception("The schedule %s could not be carried out", one.id, extra=extra)
        return False

    def _fire(self, one: ScheduleToLookAt, patience: float) -> Firing:
        limits = self._record.tenant_limits(one.tenant)
        most = limits.most_unfinished_runs(self._settings.tenant_max_unfinished_runs)
        fired = self._record.fire_schedule(one.id, self._run_of, most, patience)
        if fired is None or fired == "postponed":
            return fired
        self._observers.schedule_fired(fired)
        if fired.run is not None:
            self._dispatcher.wake(fired.run)
        for run_id in fired.to_cancel:
            cancelled = self._record.cancel_for_tick(run_id)
            if cancelled is not None:
                self._dispatcher.cancelled(cancelled)
        return fired

    def _run_of(self, schedule: ScheduleRecord, due: float) -> NewRun:
        return run_of_tick(self._settings, self._app, schedule, due)

    def _declare(self) -> None:
        made = self._record.declare_schedules(self._app.version, self._app.schedules, starting=self._starting)
        self._starting = False
        if made is None:
            return
        if made.written or made.removed:
            logger.info(
                "The schedules of version %s are in force: %d written, %d removed",
                self._app.version,
                len(made.written),
                len(made.removed),
                extra={"action": "schedules_declared", "written": made.written, "removed": made.removed},
            )
        for one in made.taken:
            logger.warning(
                "The schedule %s of the application is not in force: tenant %s has another of that name, which a "
                "request made. Rename this one in the code, or remove that one (turnwise schedules remove) and start "
                "this process again",
                one.name,
                one.tenant,
                extra={"action": "schedule_name_taken", "schedule": one.name, "tenant": one.tenant},
            )
