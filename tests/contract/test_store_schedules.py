"""Ticks of schedules in the record, on each database."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import until_it_waits
from tests.support.schedule_parts import (
    end,
    fire,
    let_pass,
    look_now,
    new_schedule,
    outcomes,
    run_of,
    runs_of,
    terms,
    ticks_of,
)
from tests.support.store_parts import new_run

from turnwise import App, Task
from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, InvalidScheduleError, NotFoundError, UnknownTaskError
from turnwise.processes.new_runs import run_of_tick
from turnwise.processes.settings import load_settings
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.database import Database
from turnwise.record.database.schedule_tables import schedule_ticks, schedules
from turnwise.record.runs.submission import accept
from turnwise.record.runs.wait_facts import COORDINATOR
from turnwise.record.schedules import firing
from turnwise.record.schedules import schedules as module
from turnwise.record.schedules.declarations import Declaration
from turnwise.record.schedules.firing import Fired
from turnwise.record.schedules.schedule import ScheduleRecord
from turnwise.record.store import Store
from turnwise.record.tenants.admission import lock_admission
from turnwise.record.values.records import NewRun

HOUR = 3_600.0


@pytest.fixture
def tenant() -> str:
    return new_id("tenant")


def test_a_tick_submits_its_run_and_moves_the_schedule_on(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    assert fire(store, schedule) == []

    let_pass(store, schedule, HOUR + 1)
    (fired,) = fire(store, schedule)

    (tick,), (run,) = ticks_of(store, schedule), runs_of(store, schedule)
    after = store.tenant(tenant).schedules.schedule(schedule.name)
    assert (tick.outcome, tick.run_id, tick.triggered_by) == ("submitted", run.id, None)
    assert fired.run is not None
    assert (fired.run.id, 0.9 < fired.late < 5, fired.again) == (run.id, True, False)
    assert run.idempotency_key == schedule.key_of(tick.due_at)
    assert after.due_at == pytest.approx(tick.due_at + HOUR)
    assert fire(store, schedule) == []
    assert (run.move_due_at is not None, [event.type for event in store.tenant(tenant).events(run.id)]) == (
        True,
        ["run.accepted"],
    )


def test_of_many_coordinators_one_carries_a_tick_out(database: Database, tenant: str) -> None:
    store = Store(database)
    every = [new_schedule(store, tenant, every=HOUR, overlap="allow") for _ in range(5)]
    for schedule in every:
        let_pass(store, schedule, HOUR + 1)

    with ThreadPoolExecutor(8) as pool:
        fired = list(pool.map(lambda schedule: fire(store, schedule), every * 8))

    assert sum(len(one) for one in fired) == 5
    assert Counter(len(ticks_of(store, schedule)) for schedule in every) == {1: 5}
    assert len(runs_of(store, every[0])) == 5


def test_a_transaction_that_is_lost_leaves_nothing_of_a_tick(
    store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 1)
    due = store.tenant(tenant).schedules.schedule(schedule.id).due_at

    def die(*_: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(firing._Look, "_move_on", die)  # the last statement, after the run and the tick
        fire(store, schedule)

    assert (ticks_of(store, schedule), runs_of(store, schedule)) == ([], [])
    assert store.tenant(tenant).schedules.schedule(schedule.id).due_at == due
    assert len(fire(store, schedule)) == 1


@pytest.mark.parametrize(
    ("catch_up", "hours", "expected"),
    [
        ("skip", 5.5, [("missed", 5)]),
        ("last", 5.5, [("missed", 4), ("submitted", 1)]),
        ("all", 5.5, [("missed", 2), ("submitted", 1), ("submitted", 1), ("submitted", 1)]),
        ("skip", 5.001, [("missed", 4), ("submitted", 1)]),  # the last one is not late
    ],
)
def test_ticks_that_no_one_was_there_for_are_caught_up_on_as_the_schedule_says(
    store: Store, tenant: str, catch_up: str, hours: float, expected: list[tuple[str, int]]
) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, catch_up=catch_up, catch_up_limit=3, overlap="allow")

    let_pass(store, schedule, hours * HOUR)
    fire(store, schedule)

    assert outcomes(store, schedule) == expected
    following = store.tenant(tenant).schedules.schedule(schedule.id).due_at
    assert following is not None
    assert 0 < following - store.tenant(tenant).now() <= HOUR


def test_thousands_of_missed_ticks_are_noted_in_steps(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=1.0, catch_up="all", catch_up_limit=2, overlap="allow")

    let_pass(store, schedule, 1_234.2)
    fire(store, schedule)

    found = outcomes(store, schedule)
    assert (sum(ticks for _, ticks in found), Counter(outcome for outcome, _ in found)["submitted"]) == (1_234, 2)
    assert [outcome for outcome, _ in found[-2:]] == ["submitted", "submitted"]


def test_a_run_that_is_not_accepted_is_a_refused_tick_and_the_next_one_comes(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="allow")
    for _ in range(2):
        let_pass(store, schedule, HOUR + 1)
        fire(store, schedule, most=1)
    end(store, runs_of(store, schedule)[0])
    let_pass(store, schedule, HOUR)
    fire(store, schedule, most=1)

    third, refused, _ = ticks_of(store, schedule)
    assert (refused.outcome, refused.code, refused.run_id) == ("refused", "too_many_runs", None)
    assert "it may have 1 at a time" in str(refused.reason)
    assert third.outcome == "submitted"


def test_a_refusal_by_whoever_makes_the_run_is_kept_as_well(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 1)

    def refuse(schedule: ScheduleRecord, due: float) -> Any:
        raise UnknownTaskError("no version has it")

    store.coordinator.fire_schedule(schedule.id, refuse, None)

    (tick,) = ticks_of(store, schedule)
    assert (tick.outcome, tick.code, tick.reason) == ("refused", "unknown_task", "no version has it")


@pytest.mark.parametrize("most", [5, None], ids=["with a limit of runs", "in its session"])
@pytest.mark.parametrize("patience", [0.2, 0.0])
def test_a_tick_is_left_to_a_later_look_while_a_submission_of_its_tenant_takes_long(
    store: Store, tenant: str, most: int | None, patience: float
) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 1)

    def in_session(found: ScheduleRecord, due: float) -> NewRun:
        return replace(run_of(found, due), session_id="ann")

    with ThreadPoolExecutor(1) as pool, store.database.begin() as submission:
        accept(store.database, submission, tenant, new_run(session_id="ann"), most)
        begun = pool.submit(store.coordinator.fire_schedule, schedule.id, in_session, most, patience)
        assert begun.result(timeout=10) == "postponed"

    after = store.tenant(tenant).schedules.schedule(schedule.id)
    assert (ticks_of(store, schedule), after.look_at is not None and after.look_at > store.coordinator.now()) == (
        [],
        True,
    )
    look_now(store, schedule)
    (fired,) = fire(store, schedule, most=5)
    assert fired.run is not None


def test_a_tick_waits_in_line_behind_short_submissions_of_its_tenant(
    store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 1)

    with ThreadPoolExecutor(1) as pool:
        with store.database.begin() as submission:
            lock_admission(store.database, submission, tenant)
            begun = pool.submit(store.coordinator.fire_schedule, schedule.id, run_of, 5, 30.0)
            until_it_waits(store)
        fired = begun.result(timeout=30)

    assert isinstance(fired, Fired) and fired.run is not None


@pytest.mark.parametrize("change", [{"version": "8\ud800"}, {"priority": 2**70}], ids=["no_text", "too_large"])
def test_a_run_that_the_database_cannot_keep_is_a_refused_tick_and_the_next_one_comes(
    store: Store, tenant: str, change: dict[str, Any]
) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 1)

    fired = store.coordinator.fire_schedule(schedule.id, lambda found, due: new_run(**change), None)

    (tick,) = ticks_of(store, schedule)
    assert isinstance(fired, Fired)
    assert (list(fired.ticks), tick.outcome, tick.code, tick.run_id) == ([tick], "refused", "unwritable", None)
    assert runs_of(store, schedule) == []
    let_pass(store, schedule, HOUR)
    fire(store, schedule)
    assert [one.outcome for one in ticks_of(store, schedule)] == ["submitted", "refused"]


def test_a_clock_that_is_set_back_brings_no_tick_twice(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="allow")
    let_pass(store, schedule, HOUR + 1)
    before = store.tenant(tenant).schedules.schedule(schedule.id)
    fire(store, schedule)
    with store.database.begin() as connection:
        again = {"due_at": before.due_at, "look_at": before.look_at}
        connection.execute(sa.update(schedules).where(schedules.c.id == schedule.id).values(again))

    fire(store, schedule)

    assert (len(ticks_of(store, schedule)), len(runs_of(store, schedule))) == (1, 1)


def test_a_pause_holds_ticks_and_nothing_of_it_is_caught_up(store: Store, tenant: str) -> None:
    mine = store.tenant(tenant)
    schedule = new_schedule(store, tenant, every=HOUR, catch_up="all")
    paused = mine.schedules.pause_schedule(schedule.name, "holidays", "key:boss")
    let_pass(store, schedule, 3.5 * HOUR)
    assert (paused.pause_note, paused.paused_by, fire(store, schedule)) == ("holidays", "key:boss", [])

    resumed = mine.schedules.resume_schedule(schedule.name)
    fire(store, schedule)

    assert (ticks_of(store, schedule), resumed.paused_at, resumed.pause_note) == ([], None, None)
    assert resumed.due_at is not None
    assert 0 < resumed.due_at - mine.now() <= HOUR / 2
    with pytest.raises(ConflictError, match="is not paused"):
        mine.schedules.resume_schedule(schedule.name)


@pytest.mark.parametrize("passes", [0.0, 3 * HOUR], ids=["short pause", "long pause"])
def test_a_tick_that_jitter_moves_behind_a_pause_happens(store: Store, tenant: str, passes: float) -> None:
    mine = store.tenant(tenant)
    for _ in range(100):  # until one is moved far enough
        schedule = new_schedule(store, tenant, every=HOUR, jitter=HOUR)
        let_pass(store, schedule, 1.1 * HOUR)  # due six minutes ago
        mine.schedules.pause_schedule(schedule.name, None, "key:boss")
        let_pass(store, schedule, passes)
        paused, now = mine.schedules.schedule(schedule.name), mine.now()
        due = max(at for at in paused.timing.first_after(now - 2 * HOUR, 3) if at <= now)
        if paused.timing.fires_at(due, paused.id) > now + 60:
            break

    resumed = mine.schedules.resume_schedule(schedule.name)

    assert resumed.due_at == due
    assert [fired.ticks for fired in fire(store, schedule)] == [[]]  # its time has not come yet


def test_a_schedule_whose_one_tick_is_still_to_happen_is_not_over_after_a_pause(store: Store, tenant: str) -> None:
    mine = store.tenant(tenant)
    for _ in range(100):
        schedule = new_schedule(store, tenant, at=mine.now() + 60, jitter=HOUR)
        let_pass(store, schedule, 120)
        paused = mine.schedules.pause_schedule(schedule.name, None, "key:boss")
        if (paused.fires_at(paused.due_at) or 0.0) > mine.now() + 60:
            break

    assert mine.schedules.resume_schedule(schedule.name).due_at == paused.due_at


def test_a_schedule_with_one_time_ends_after_it(store: Store, tenant: str) -> None:
    now = store.tenant(tenant).now()
    schedule = new_schedule(store, tenant, at=now + HOUR)
    let_pass(store, schedule, HOUR + 1)
    fire(store, schedule)

    after = store.tenant(tenant).schedules.schedule(schedule.id)
    assert (outcomes(store, schedule), after.due_at, after.look_at) == ([("submitted", 1)], None, None)
    with pytest.raises(InvalidScheduleError, match="in the past"):
        new_schedule(store, tenant, at=now - 1)


def test_a_change_of_the_times_begins_anew_and_one_of_the_rest_does_not(store: Store, tenant: str) -> None:
    mine, schedule = store.tenant(tenant), new_schedule(store, tenant, every=HOUR)

    same = mine.schedules.change_schedule(schedule.name, lambda found: terms(every=HOUR, overlap="queue"))
    other = mine.schedules.change_schedule(schedule.name, lambda found: terms(every=2 * HOUR))

    assert (same.due_at, same.overlap) == (schedule.due_at, "queue")
    assert other.due_at == pytest.approx(schedule.created_at + 2 * HOUR)
    with pytest.raises(InvalidScheduleError, match="never comes"):
        mine.schedules.change_schedule(schedule.name, lambda found: terms(every=HOUR, end_at=mine.now() - 1))
    assert mine.schedules.schedule(schedule.name) == other


def test_names_are_a_tenant_s_own_and_a_schedule_goes_with_its_ticks(
    store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = store.tenant(tenant), store.tenant(new_id("tenant"))
    made = mine.schedules.create_schedule("nightly", terms(), "me")
    other.schedules.create_schedule("nightly", terms(), "me")
    with pytest.raises(ConflictError) as taken:
        mine.schedules.create_schedule("nightly", terms(), "me")
    mine.schedules.trigger_schedule("nightly", run_of, "me")
    monkeypatch.setattr(module, "MOST_SCHEDULES", 1)
    with pytest.raises(ConflictError) as full:
        mine.schedules.create_schedule("another", terms(), "me")

    removed = mine.schedules.remove_schedule(made.id)

    assert (taken.value.code, full.value.code, removed.id) == ("schedule_exists", "too_many_schedules", made.id)
    assert (mine.schedules.schedules(), mine.schedules.ticks(made.id), len(other.schedules.schedules())) == ([], [], 1)
    assert len(mine.runs()[0]) == 1
    with pytest.raises(NotFoundError, match="there is no schedule 'nightly'"):
        mine.schedules.schedule("nightly")


def test_coordinators_are_told_of_what_is_due_and_when_the_next_one_is(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    let_pass(store, schedule, HOUR + 7)

    found, _ = store.coordinator.schedules_to_look_at(1_000)
    (mine,) = [one for one in found if one.id == schedule.id]
    fire(store, schedule)
    after, seconds = store.coordinator.schedules_to_look_at(1_000)

    assert (mine.tenant, mine.task, round(mine.late)) == (tenant, "triage", 7)
    assert schedule.id not in [one.id for one in after]
    assert seconds is not None
    assert seconds <= HOUR


@pytest.mark.parametrize(("policy", "of_coordinator"), [("pinned", False), ("adopt", True)])
def test_a_tick_amid_an_upgrade_is_for_the_version_that_the_policy_says(
    store: Store, tenant: str, policy: str, of_coordinator: bool
) -> None:
    apps = [App("tests", version=new_id("version")) for _ in range(2)]
    for app in apps:
        app.task(name="triage")(_unbuilt)
        app.schedule("triage", name=tenant, tenant=tenant, message="hello", every=3_600)
        info = WorkerInfo(kind=COORDINATOR, queues=(), host="here", pid=1, version=app.version)
        store.process.register_worker(info)
        store.coordinator.declare_schedules(app.version, app.schedules, starting=True)
    old, new = apps
    # An old coordinator that starts again takes nothing back, and it may be the one that finds the tick.
    assert store.coordinator.declare_schedules(old.version, old.schedules, starting=True) is None
    schedule = store.tenant(tenant).schedules.schedule(tenant)
    assert schedule.version == new.version
    let_pass(store, schedule, HOUR + 1)
    settings = load_settings(version_policy=policy)

    store.coordinator.fire_schedule(schedule.id, lambda found, due: run_of_tick(settings, old, found, due), None)

    (run,) = runs_of(store, schedule)
    assert run.version == (old.version if of_coordinator else new.version)


def test_a_schedule_of_the_code_comes_into_force_at_the_start_after_its_name_is_free(store: Store, tenant: str) -> None:
    other = store.tenant(tenant).schedules.create_schedule("nightly", terms(), "me")
    app = App("tests", version=new_id("version"))
    app.task(name="triage")(_unbuilt)
    for name in ("nightly", "hourly"):
        app.schedule("triage", name=name, tenant=tenant, message="hello", every=3_600)

    def declare(*, starting: bool) -> Declaration | None:
        return store.coordinator.declare_schedules(app.version, app.schedules, starting=starting)

    for _ in range(2):  # each process that starts is told
        left_out = declare(starting=True)
        assert left_out is not None
        assert ([(one.tenant, one.name) for one in left_out.taken], left_out.written) == (
            [(tenant, "nightly")],
            ["hourly"],
        )
    assert declare(starting=False) is None
    assert store.tenant(tenant).schedules.schedule("nightly").id == other.id

    store.tenant(tenant).schedules.remove_schedule("nightly")
    complete = declare(starting=True)

    assert complete is not None
    assert (complete.taken, sorted(complete.written)) == ([], ["hourly", "nightly"])
    assert store.tenant(tenant).schedules.schedule("nightly").version == app.version
    assert declare(starting=True) is None


def _unbuilt() -> Task:
    raise AssertionError("a tick builds no task")


def test_old_ticks_of_a_schedule_are_forgotten(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = new_schedule(store, tenant, every=10.0, catch_up="skip")
    let_pass(store, schedule, 11)
    with store.database.begin() as connection:
        rows = [
            {"schedule_id": schedule.id, "due_at": float(no), "at": 0.0, "outcome": "skipped", "ticks": 1}
            for no in range(1_005)
        ]
        connection.execute(sa.insert(schedule_ticks), rows)

    fire(store, schedule)

    assert len(ticks_of(store, schedule)) == 1_000
    assert ticks_of(store, schedule)[0].outcome == "submitted"


def test_a_tick_is_kept_while_its_run_has_not_ended(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=10.0, catch_up="skip", overlap="skip")
    let_pass(store, schedule, 11)
    fire(store, schedule)
    (waiting,) = runs_of(store, schedule)
    after = ticks_of(store, schedule)[0].due_at
    with store.database.begin() as connection:
        rows = [
            {"schedule_id": schedule.id, "due_at": after + no / 1_000, "at": 0.0, "outcome": "skipped", "ticks": 1}
            for no in range(1, 1_005)
        ]
        connection.execute(sa.insert(schedule_ticks), rows)

    for _ in range(2):
        let_pass(store, schedule, 10)
        fire(store, schedule)

    assert ticks_of(store, schedule)[0].outcome == "skipped"
    assert [run.id for run in runs_of(store, schedule)] == [waiting.id]
