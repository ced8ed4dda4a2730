"""Schedules as a tenant makes, changes, lists and ends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.base.json_value import Json
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.schedule_tables import schedule_ticks, schedules
from turnwise.record.runs.submission import accept
from turnwise.record.schedules.schedule import (
    SCHEDULE,
    TICK,
    ScheduleRecord,
    ScheduleTerms,
    TickOutcome,
    TickRecord,
    schedule_of,
    tick_of,
)
from turnwise.record.transaction.journal import accepted
from turnwise.record.transaction.part import RecordPart, TenantPart
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.schedules.timing import Timing, require_ticks

# Makes the run of a tick: of which schedule, and when it was due.
RunMaker = Callable[[ScheduleRecord, float], NewRun]
# Schedules of one tenant.
MOST_SCHEDULES = 1_000
_NAMED = sa.or_(schedules.c.name == sa.bindparam("ref"), schedules.c.id == sa.bindparam("ref"))
_BY_REF = sa.select(*SCHEDULE).where(schedules.c.tenant == sa.bindparam("of_tenant"), _NAMED)
_LOCK_BY_REF = _BY_REF.with_for_update()
_COUNT = sa.select(sa.func.count()).select_from(schedules).where(schedules.c.tenant == sa.bindparam("of_tenant"))


class ScheduleLists(RecordPart):
    """Reads the schedules within reach, and their ticks."""

    def schedules(self, after: str | None = None, limit: int = 100) -> list[ScheduleRecord]:
        """Schedules by name; those behind `after`, a name."""
        statement = sa.select(*SCHEDULE).where(*self._reach.where(schedules.c.tenant)).order_by(schedules.c.name)
        if after is not None:
            statement = statement.where(schedules.c.name > after)
        with self._database.read() as connection:
            return [schedule_of(row) for row in connection.execute(statement.limit(limit))]

    def schedule(self, ref: str) -> ScheduleRecord:
        """The schedule of that id or name; raises `NotFoundError`."""
        statement = sa.select(*SCHEDULE).where(*self._reach.where(schedules.c.tenant), _NAMED)
        with self._database.read() as connection:
            row = connection.execute(statement, {"ref": ref}).first()
        if row is None:
            raise unknown_schedule(ref)
        return schedule_of(row)

    def ticks(
        self, schedule_id: str, *, outcome: str | None = None, before: float | None = None, limit: int = 50
    ) -> list[TickRecord]:
        """Ticks of a schedule, newest first; those that were due before `before`."""
        found = sa.select(*TICK).where(schedule_ticks.c.schedule_id == schedule_id)
        found = found.order_by(schedule_ticks.c.due_at.desc()).limit(limit)
        if outcome is not None:
            found = found.where(schedule_ticks.c.outcome == outcome)
        if before is not None:
            found = found.where(schedule_ticks.c.due_at < before)
        mine = sa.exists().where(schedules.c.id == schedule_id, *self._reach.where(schedules.c.tenant))
        with self._database.read() as connection:
            return [tick_of(row) for row in connection.execute(found.where(mine))]

    def last_ticks(self, schedule_ids: Sequence[str]) -> dict[str, TickRecord]:
        """The newest tick of each of those schedules that has one."""
        ticks = schedule_ticks.c
        newest = (
            sa.select(ticks.schedule_id, sa.func.max(ticks.due_at).label("due_at"))
            .where(ticks.schedule_id.in_(schedule_ids))
            .group_by(ticks.schedule_id)
            .subquery()
        )
        same = sa.and_(ticks.schedule_id == newest.c.schedule_id, ticks.due_at == newest.c.due_at)
        mine = sa.exists().where(schedules.c.id == ticks.schedule_id, *self._reach.where(schedules.c.tenant))
        with self._database.read() as connection:
            found = connection.execute(sa.select(*TICK).join(newest, same).where(mine))
            return {tick.schedule_id: tick for tick in map(tick_of, found)}


class Schedules(ScheduleLists, TenantPart):
    """The tenant's schedules."""

    def create_schedule(self, name: str, terms: ScheduleTerms, created_by: str) -> ScheduleRecord:
        """Keep a schedule.

        Raises `ConflictError` (`schedule_exists`, `too_many_schedules`), and `InvalidScheduleError` if it has no tick.
        """
        with self._database.begin() as connection:
            at = self._database.now(connection)
            if connection.execute(_COUNT, {"of_tenant": self._tenant}).scalar_one() >= MOST_SCHEDULES:
                raise ConflictError(
                    f"the tenant has {MOST_SCHEDULES} schedules, and may not have more; remove one",
                    code="too_many_schedules",
                )
            made = write_schedule(connection, self._database.insert, self._tenant, name, terms, at, created_by)
            if made is None:
                raise ConflictError(
                    f"there is a schedule {name!r}; choose another name, or change that one", code="schedule_exists"
                )
            self._audited(connection, made.id)
        return made

    def change_schedule(self, ref: str, change: Callable[[ScheduleRecord], ScheduleTerms]) -> ScheduleRecord:
        """Give a schedule the terms that `change` makes of it. With other times it begins anew: nothing is caught up.

        Raises `NotFoundError`, `ConflictError` (`declared_in_code`) and `InvalidScheduleError`.
        """
        with self._database.begin() as connection:
            found, at = self._lock(connection, ref), self._database.now(connection)
            _require_not_in_code(found)
            terms = change(found)
            values: Json = {**terms.columns(), "updated_at": at}
            if (timing := _timed_anew(found, terms)) is not None:
                values["due_at"] = require_ticks(timing, at)
            changed = _write(connection, found, values)
            self._audited(connection, found.id)
        return changed

    def pause_schedule(self, ref: str, note: str | None, paused_by: str) -> ScheduleRecord:
        """Let no tick of the schedule happen. Repeated, it changes the note. Raises `NotFoundError`."""
        with self._database.begin() as connection:
            found, at = self._lock(connection, ref), self._database.now(connection)
            since = at if found.paused_at is None else found.paused_at
            values = {"paused_at": since, "paused_by": paused_by, "pause_note": note, "updated_at": at}
            paused = _write(connection, found, values)
            self._audited(connection, found.id)
        return paused

    def resume_schedule(self, ref: str) -> ScheduleRecord:
        """Let its ticks happen again, from now on: those whose time was in the pause are not caught up.

        Raises `NotFoundError`, and `ConflictError` (`not_paused`).
        """
        with self._database.begin() as connection:
            found, at = self._lock(connection, ref), self._database.now(connection)
            if found.paused_at is None:
                raise ConflictError(f"the schedule {found.name!r} is not paused", code="not_paused")
            values = {"paused_at": None, "paused_by": None, "pause_note": None, "updated_at": at}
            overdue = found.due_at is not None and found.due_at <= at
            due = found.timing.next_to_happen(at, found.id) if overdue else found.due_at
            resumed = _write(connection, found, values | {"due_at": due})
            self._audited(connection, found.id)
        return resumed

    def remove_schedule(self, ref: str) -> ScheduleRecord:
        """Delete a schedule with its ticks, and return it as it was; its runs stay.

        Raises `NotFoundError`, and `ConflictError` (`declared_in_code`).
        """
        with self._database.begin() as connection:
            found = self._lock(connection, ref)
            _require_not_in_code(found)
            delete_schedule(connection, found.id)
            self._audited(connection, found.id)
        return found

    def trigger_schedule(self, ref: str, make_run: RunMaker, triggered_by: str) -> tuple[TickRecord, RunRecord]:
        """Submit a run of the schedule now, whatever its other runs do; its next tick stays.

        Raises `NotFoundError`, and what `TenantRole.submit` and `make_run` raise; then nothing is done.
        """
        with self._database.begin() as connection:
            found, at = self._lock(connection, ref), self._database.now(connection)
            new = make_run(found, at)
            run, _ = accept(self._database, connection, self._tenant, new, self._max_unfinished_runs)
            tick = TickRecord(
                schedule_id=found.id,
                due_at=at,
                at=at,
                outcome=TickOutcome.SUBMITTED,
                run_id=run.id,
                triggered_by=triggered_by,
            )
            connection.execute(sa.insert(schedule_ticks).values(tick_row(tick)))
            self._audited(connection, run.id)
        self._core.after_commit(run, [accepted()])
        return tick, run

    def _lock(self, connection: Connection, ref: str) -> ScheduleRecord:
        row = connection.execute(_LOCK_BY_REF, {"of_tenant": self._tenant, "ref": ref}).first()
        if row is None:
            raise unknown_schedule(ref)
        return schedule_of(row)


def write_schedule(
    connection: Connection,
    insert: Callable[[sa.Table], Any],
    tenant: str,
    name: str,
    terms: ScheduleTerms,
    at: float,
    created_by: str,
    version: str | None = None,
) -> ScheduleRecord | None:
    """Write a new schedule; None, and nothing is written, if the tenant has one of that name.

    Raises `InvalidScheduleError` if it has no tick after `at`; one that code declares may have had its last.
    """
    made = terms.columns() | {"id": new_id("sch"), "tenant": tenant, "name": name, "version": version}
    made |= {"due_at": None, "look_at": None, "paused_at": None, "paused_by": None, "pause_note": None}
    record = ScheduleRecord(**made, created_at=at, created_by=created_by, updated_at=at)
    due = record.timing.next_after(at) if version is not None else require_ticks(record.timing, at)
    values = {"due_at": due, "look_at": record.fires_at(due)}
    row = {name: getattr(record, name) for name in schedules.c.keys()} | values  # noqa: SIM118 - it is no dict
    statement = insert(schedules).values(row).on_conflict_do_nothing(index_elements=["tenant", "name"])
    found = connection.execute(statement.returning(*SCHEDULE)).first()
    return None if found is None else schedule_of(found)


def write_terms(
    connection: Connection, found: ScheduleRecord, terms: ScheduleTerms, at: float, version: str
) -> ScheduleRecord:
    """Give a schedule that code declares the terms that it has now."""
    values: Json = {**terms.columns(), "updated_at": at, "version": version}
    if (timing := _timed_anew(found, terms)) is not None:
        values["due_at"] = timing.next_after(at)
    return _write(connection, found, values)


def delete_schedule(connection: Connection, schedule_id: str) -> None:
    """Delete a schedule and its ticks."""
    connection.execute(sa.delete(schedule_ticks).where(schedule_ticks.c.schedule_id == schedule_id))
    connection.execute(sa.delete(schedules).where(schedules.c.id == schedule_id))


def tick_row(tick: TickRecord) -> Json:
    """A tick as its row."""
    return {column.name: getattr(tick, column.name) for column in TICK}


def unknown_schedule(ref: str) -> NotFoundError:
    """The error that says which schedule there is not."""
    return NotFoundError(f"there is no schedule {ref!r}; list the schedules to see which exist")


def _timed_anew(found: ScheduleRecord, terms: ScheduleTerms) -> Timing | None:
    """The times of the new terms; None if they are those that the schedule has."""
    timing = replace(terms.timing, anchor=found.created_at)
    return None if timing == found.timing else timing


def _write(connection: Connection, found: ScheduleRecord, values: Json) -> ScheduleRecord:
    """Change columns of a schedule; coordinators look at it then."""
    changed = ScheduleRecord(**{name: getattr(found, name) for name in schedules.c.keys()} | values)  # noqa: SIM118
    # At once, because a tick may wait; that look says when the next one has to be.
    look_at = None if changed.paused_at is not None else changed.updated_at
    row = connection.execute(
        sa.update(schedules)
        .where(schedules.c.id == found.id)
        .values(values | {"look_at": look_at})
        .returning(*SCHEDULE)
    ).one()
    return schedule_of(row)


def _require_not_in_code(found: ScheduleRecord) -> None:
    if found.version is not None:
        raise ConflictError(
            f"the schedule {found.name!r} is declared in the code of the application, version {found.version!r}; "
            "change it there, or pause it here",
            code="declared_in_code",
        )
