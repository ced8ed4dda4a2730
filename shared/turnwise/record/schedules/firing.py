"""Ticks, as coordinators carry them out.

One transaction locks the schedule, writes the tick with its run, and moves the schedule on to its next tick. So there
is no moment at which a tick has its run and the schedule does not know of it, or the other way round; and of many
coordinators that look at the same time, one finds the schedule due. A row for each tick that came, and an idempotency
key made of the tick, keep a second run out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import EnvironmentFault, UsageError
from turnwise.record.database.columns import now, word
from turnwise.record.database.database import Database
from turnwise.record.database.faults import is_lock_timeout
from turnwise.record.database.lock_waits import PATIENCE, wait_at_most
from turnwise.record.database.schedule_tables import schedule_ticks, schedules
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.runs.submission import accept
from turnwise.record.schedules.schedule import (
    SCHEDULE,
    TICK,
    ScheduleRecord,
    TickOutcome,
    TickRecord,
    schedule_of,
    tick_of,
)
from turnwise.record.schedules.schedules import RunMaker, tick_row
from turnwise.record.states import UNFINISHED
from turnwise.record.transaction.journal import accepted
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.sweeping_part import SweepingPart
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.schedules.catching_up import step

# Ticks of a schedule that are kept, and of those, how many may wait for the run before them.
KEPT_TICKS = 1_000
MOST_QUEUED = 100
# Seconds between two looks whether the run that a tick waits for has ended, or the submission of another run.
_PATIENCE = 1.0
# Seconds until a schedule that could not be carried out is looked at again.
_POSTPONED = 10.0
# Unended runs of a schedule that one look reads; those that it cancels are the first ones.
_UNENDED_AT_ONCE = 20

_NEXT = (
    sa.select(schedules.c.id, schedules.c.tenant, schedules.c.task, schedules.c.run, schedules.c.look_at, now())
    .where(schedules.c.look_at.is_not(None))
    .order_by(schedules.c.look_at)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_LOCK = (
    sa.select(*SCHEDULE, now())
    .where(schedules.c.id == sa.bindparam("of_schedule"), schedules.c.look_at <= now())
    .with_for_update(skip_locked=True)
)
_of_schedule = schedule_ticks.c.schedule_id == sa.bindparam("of_schedule")
_is_queued = schedule_ticks.c.outcome == word(TickOutcome.QUEUED)
_QUEUED = sa.select(*TICK).where(_of_schedule, _is_queued).order_by(schedule_ticks.c.due_at)
_KNOWN = sa.select(schedule_ticks.c.due_at).where(
    _of_schedule, schedule_ticks.c.due_at == sa.bindparam("of_due", type_=sa.Double)
)
# All ticks, however old: a run may wait for a human while many later ones come and end. With the tenant, so that its
# unfinished runs may be looked through instead, by the index of these. Those that were not cancelled come first.
_UNENDED = (
    sa.select(runs.c.id, runs.c.cancel_requested_at)
    .join(schedule_ticks, schedule_ticks.c.run_id == runs.c.id)
    .where(_of_schedule, runs.c.tenant == sa.bindparam("of_tenant"), status_in(runs.c.status, UNFINISHED))
    .order_by(runs.c.cancel_requested_at.is_not(None), runs.c.id)
    .limit(_UNENDED_AT_ONCE)
)
_MOVE_ON = (
    sa.update(schedules)
    .where(schedules.c.id == sa.bindparam("of_schedule"))
    .values(due_at=sa.bindparam("next_due", type_=sa.Double), look_at=sa.bindparam("next_look", type_=sa.Double))
)
_POSTPONE = (
    sa.update(schedules)
    .where(schedules.c.id == sa.bindparam("of_schedule"), schedules.c.look_at <= now())
    .values(look_at=now() + sa.bindparam("wait", type_=sa.Double))
)
_oldest_kept = (
    sa.select(schedule_ticks.c.due_at)
    .where(_of_schedule)
    .order_by(schedule_ticks.c.due_at.desc())
    .limit(1)
    .offset(KEPT_TICKS)
    .scalar_subquery()
)
_has_unended = sa.exists().where(runs.c.id == schedule_ticks.c.run_id, status_in(runs.c.status, UNFINISHED))
# A tick is known for as long as its run has not ended, or the run would no longer keep later ticks back.
_FORGET = sa.delete(schedule_ticks).where(
    _of_schedule, schedule_ticks.c.due_at <= _oldest_kept, sa.not_(_is_queued), sa.not_(_has_unended)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleToLookAt:
    """A schedule that has to be looked at, `late` seconds ago."""

    id: str
    tenant: str
    task: str
    version: str | None
    late: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Fired:
    """The results of one look at a schedule: ticks that were written, a run that was accepted, runs to be cancelled.

    `again`: there is more to do at once. `late` is how many seconds after its time the tick of the run came.
    """

    schedule: ScheduleRecord
    ticks: Sequence[TickRecord] = ()
    run: RunRecord | None = None
    late: float = 0.0
    to_cancel: Sequence[str] = ()
    again: bool = False


# `postponed`: it is due, and left to a later look because another transaction took too long.
Firing = Fired | Literal["postponed"] | None


class DueSchedules(SweepingPart):
    """Carries out the ticks of every tenant's schedules."""

    def schedules_to_look_at(self, most: int = 100) -> tuple[list[ScheduleToLookAt], float | None]:
        """The schedules that are due, and in how many seconds the next one is; None if there is none."""
        found: list[ScheduleToLookAt] = []
        with self._database.read() as connection:
            for schedule_id, tenant, task, run, look_at, at in connection.execute(_NEXT, {"most": most}):
                if look_at > at:
                    return found, look_at - at
                version = run.get("version")
                late = at - look_at
                found.append(ScheduleToLookAt(id=schedule_id, tenant=tenant, task=task, version=version, late=late))
        return found, 0.0 if len(found) == most else None

    def fire_schedule(
        self, schedule_id: str, make_run: RunMaker, most: int | None, patience: float = PATIENCE
    ) -> Firing:
        """Carry out at most one tick of a schedule; None if it is not due, or another coordinator has it.

        Its tenant may have `most` unfinished runs. A tick whose run is not accepted is kept with the reason. While a
        submission of the tenant takes longer than `patience`, the tick is `postponed` to a later look. Whatever else is
        raised, but for trouble of the surroundings, the schedule waits for a while.
        """
        try:
            fired = self._fired(schedule_id, make_run, most, patience)
        except EnvironmentFault as error:
            if not is_lock_timeout(error.__cause__):
                raise
            self._postpone(schedule_id, _PATIENCE)
            return "postponed"
        except Exception:
            self._postpone(schedule_id, _POSTPONED)
            raise
        if fired is not None and fired.run is not None:
            self._core.after_commit(fired.run, [accepted()])
        return fired

    def _fired(self, schedule_id: str, make_run: RunMaker, most: int | None, patience: float) -> Fired | None:
        with self._database.begin() as connection:
            row = connection.execute(_LOCK, {"of_schedule": schedule_id}).first()
            if row is None:
                return None
            # For the tenant's admission, the session of the run, or another run with its idempotency key.
            wait_at_most(self._database, connection, patience)
            schedule, at = schedule_of(row[:-1]), float(row[-1])

            def submit(new: NewRun) -> tuple[RunRecord, bool]:
                return accept(self._database, connection, schedule.tenant, new, most)

            return _Look(self._database, connection, schedule, at, submit).fired(make_run)

    def _postpone(self, schedule_id: str, seconds: float) -> None:
        """Have a schedule that could not be carried out wait, if it is still due.

        Or it would keep its place before all others, of which a look reads the first ones alone.
        """
        with self._database.begin() as connection:
            connection.execute(_POSTPONE, {"of_schedule": schedule_id, "wait": seconds})

    def cancel_for_tick(self, run_id: str) -> RunRecord | None:
        """Ask for the end of a run that the next tick waits for; None if it has ended, or was asked before.

        None, too, while another transaction has the run: the tick's next look finds it again.
        """
        return self._if_free(run_id, _cancelled)


def _cancelled(transaction: RunTransaction) -> RunRecord | None:
    run = transaction.run
    if run.ended or run.cancel_requested_at is not None:
        return None
    transaction.change(cancel_requested_at=transaction.now, move_due_at=transaction.now)
    return transaction.run


class _Look:
    """One look at a schedule whose row is locked, at the database's time `at`."""

    def __init__(
        self,
        database: Database,
        connection: Connection,
        schedule: ScheduleRecord,
        at: float,
        submit: Callable[[NewRun], tuple[RunRecord, bool]],
    ) -> None:
        self._database = database
        self._connection, self._schedule, self._at, self._submit = connection, schedule, at, submit
        given = {"of_schedule": schedule.id}
        unended = given | {"of_tenant": schedule.tenant}
        self._queued = [tick_of(row) for row in connection.execute(_QUEUED, given)]
        self._unended = connection.execute(_UNENDED, unended).all()
        self._run: RunRecord | None = None

    def fired(self, make_run: RunMaker) -> Fired:
        """Write what is to happen."""
        if self._queued and not self._unended:
            ticks, due = [self._from_queue(make_run)], self._schedule.due_at
            late = self._at - self._queued[0].due_at
            left = len(self._queued) > 1
        else:
            ticks, due, late = self._due(make_run)
            left = bool(self._queued) or any(tick.outcome is TickOutcome.QUEUED for tick in ticks)
        again = self._move_on(due, left=left)
        to_cancel = [run[0] for run in self._unended if run[1] is None] if left else []
        return Fired(
            schedule=self._schedule,
            ticks=ticks,
            run=self._run,
            late=late,
            to_cancel=to_cancel if self._schedule.overlap == "cancel" else (),
            again=again,
        )

    def _from_queue(self, make_run: RunMaker) -> TickRecord:
        """Submit the run of the oldest tick that waits."""
        waiting = self._queued[0]
        tick = replace(self._submitted(waiting.due_at, make_run), triggered_by=waiting.triggered_by)
        place = sa.and_(schedule_ticks.c.schedule_id == tick.schedule_id, schedule_ticks.c.due_at == tick.due_at)
        self._connection.execute(sa.update(schedule_ticks).where(place).values(tick_row(tick)))
        return tick

    def _due(self, make_run: RunMaker) -> tuple[list[TickRecord], float | None, float]:
        """Write the ticks that are due; they, when the next one is due, and how late the last of them came."""
        schedule, at = self._schedule, self._at
        fires_at = schedule.fires_at(schedule.due_at)
        if schedule.due_at is None or fires_at is None or fires_at > at:
            return [], schedule.due_at, 0.0
        due = step(schedule.timing, schedule.policy, schedule.id, schedule.due_at, at)
        ticks, late = [], 0.0
        if due.missed and not self._is_known(due.missed[-1]):
            reason = "it was not carried out in time, and the schedule does not catch up on it"
            ticks.append(self._tick(due.missed[-1], TickOutcome.MISSED, ticks=len(due.missed), reason=reason))
        if due.tick is not None and not self._is_known(due.tick):
            ticks.append(self._tick_now(due.tick, make_run))
            late = at - schedule.timing.fires_at(due.tick, schedule.id)
        rows = [tick_row(tick) for tick in ticks]
        if rows:
            self._connection.execute(sa.insert(schedule_ticks), rows)
            self._connection.execute(_FORGET, {"of_schedule": schedule.id})
        return ticks, due.following, late

    def _is_known(self, due: float) -> bool:
        """Return whether the tick has come before: the clock of the database may have been set back."""
        given = {"of_schedule": self._schedule.id, "of_due": due}
        return self._connection.execute(_KNOWN, given).first() is not None

    def _tick_now(self, due: float, make_run: RunMaker) -> TickRecord:
        overlap, unended = self._schedule.overlap, self._unended
        if overlap == "allow" or not (unended or self._queued):
            return self._submitted(due, make_run)
        before = f"the run {unended[0][0]} of the schedule has not ended" if unended else "earlier ticks wait"
        if overlap == "skip":
            return self._tick(due, TickOutcome.SKIPPED, code="overlap", reason=before)
        if overlap == "cancel":
            self._supersede()
        elif len(self._queued) >= MOST_QUEUED:
            reason = f"{before}, and {MOST_QUEUED} ticks wait for that"
            return self._tick(due, TickOutcome.SKIPPED, code="queue_full", reason=reason)
        return self._tick(due, TickOutcome.QUEUED, reason=before)

    def _supersede(self) -> None:
        """Let no tick wait: a newer one does."""
        values = {"outcome": TickOutcome.SKIPPED, "code": "superseded", "reason": "a later tick took its place"}
        where = (schedule_ticks.c.schedule_id == self._schedule.id, _is_queued)
        self._connection.execute(sa.update(schedule_ticks).where(*where).values(values))

    def _submitted(self, due: float, make_run: RunMaker) -> TickRecord:
        """Submit the run of a tick; the tick, which was refused if the run is not accepted."""
        try:
            new = make_run(self._schedule, due)
            with self._database.savepoint(self._connection):  # what a refusal leaves half done is undone
                run, created = self._submit(new)
        except UsageError as error:
            return self._tick(due, TickOutcome.REFUSED, code=error.code, reason=str(error))
        self._run = run if created else None
        return self._tick(due, TickOutcome.SUBMITTED, run_id=run.id)

    def _tick(
        self,
        due: float,
        outcome: TickOutcome,
        *,
        run_id: str | None = None,
        ticks: int = 1,
        code: str | None = None,
        reason: str | None = None,
    ) -> TickRecord:
        return TickRecord(
            schedule_id=self._schedule.id,
            due_at=due,
            at=self._at,
            outcome=outcome,
            run_id=run_id,
            ticks=ticks,
            code=code,
            reason=reason,
        )

    def _move_on(self, due: float | None, *, left: bool) -> bool:
        """Write when the next tick is due, and when to look again, and return whether that is now."""
        look_at = self._schedule.fires_at(due)
        if left:
            look_at = self._at + _PATIENCE if look_at is None else min(look_at, self._at + _PATIENCE)
        given = {"of_schedule": self._schedule.id, "next_due": due, "next_look": look_at}
        self._connection.execute(_MOVE_ON, given)
        return look_at is not None and look_at <= self._at
