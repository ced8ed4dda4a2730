"""Schedules for the store's tests, whose time can be moved."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.record.database.schedule_tables import schedule_ticks, schedules
from turnwise.record.schedules.firing import Fired
from turnwise.record.schedules.schedule import ScheduleRecord, ScheduleTerms, TickRecord
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.schedules.catching_up import CatchUpPolicy
from turnwise.schedules.timing import Timing


def terms(**changes: Any) -> ScheduleTerms:
    """The terms of a schedule of every hour: `catch_up`, `overlap`, `session_id`, and the arguments of `Timing`."""
    catch_up, overlap = changes.pop("catch_up", "last"), changes.pop("overlap", "skip")
    task, limit = changes.pop("task", "triage"), changes.pop("catch_up_limit", 10)
    session = {"session_id": changes.pop("session_id")} if "session_id" in changes else {}
    timing = Timing(**(changes or {"every": 3_600.0}))
    policy = CatchUpPolicy(kind=catch_up, limit=limit)
    return ScheduleTerms(task=task, run={"message": "hello"} | session, timing=timing, catch_up=policy, overlap=overlap)


def new_schedule(store: Store, tenant: str, **changes: Any) -> ScheduleRecord:
    """A schedule of the tenant that nothing else knows."""
    return store.tenant(tenant).schedules.create_schedule(new_id("name"), terms(**changes), "key:test")


def run_of(schedule: ScheduleRecord, due: float) -> NewRun:
    """The run of a tick."""
    return new_run(idempotency_key=schedule.key_of(due), body_hash="h")


def let_pass(store: Store, schedule: ScheduleRecord, seconds: float) -> None:
    """Have the time of a schedule be so much later: everything of it is moved into the past."""
    moved = (schedules.c.created_at, schedules.c.due_at, schedules.c.look_at, schedules.c.start_at, schedules.c.at)
    with store.database.begin() as connection:
        statement = sa.update(schedules).where(schedules.c.id == schedule.id)
        connection.execute(statement.values({column.name: column - seconds for column in moved}))
        ticks = sa.update(schedule_ticks).where(schedule_ticks.c.schedule_id == schedule.id)
        connection.execute(ticks.values(due_at=schedule_ticks.c.due_at - seconds))


def look_now(store: Store, schedule: ScheduleRecord) -> None:
    """Have coordinators look at a schedule at once."""
    with store.database.begin() as connection:
        connection.execute(sa.update(schedules).where(schedules.c.id == schedule.id).values(look_at=0.0))


def fire(store: Store, schedule: ScheduleRecord, most: int | None = None) -> list[Fired]:
    """Carry out all that is due of a schedule, as a coordinator does."""
    found: list[Fired] = []
    while isinstance(fired := store.coordinator.fire_schedule(schedule.id, run_of, most), Fired):
        found.append(fired)
        if not fired.again:
            break
    return found


def outcomes(store: Store, schedule: ScheduleRecord) -> list[tuple[str, int]]:
    """The outcomes of a schedule's ticks with how many each stands for, oldest first."""
    return [(tick.outcome.value, tick.ticks) for tick in reversed(ticks_of(store, schedule))]


def ticks_of(store: Store, schedule: ScheduleRecord) -> list[TickRecord]:
    """The ticks of a schedule, newest first."""
    return store.tenant(schedule.tenant).schedules.ticks(schedule.id, limit=1_000)


def runs_of(store: Store, schedule: ScheduleRecord) -> list[RunRecord]:
    """The runs of the schedule's tenant, oldest first."""
    return list(reversed(store.tenant(schedule.tenant).runs(limit=200)[0]))


def end(store: Store, run: RunRecord) -> None:
    """Have a run end."""
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
