"""Ticks and triggers beside runs of their schedule that have not ended, on each database."""

from __future__ import annotations

import pytest
from tests.support.schedule_parts import (
    end,
    fire,
    let_pass,
    look_now,
    new_schedule,
    outcomes,
    run_of,
    runs_of,
    ticks_of,
)

from turnwise.base.ids import new_id
from turnwise.errors import QuotaExceededError
from turnwise.record.store import Store

HOUR = 3_600.0


@pytest.fixture
def tenant() -> str:
    return new_id("tenant")


def test_a_tick_is_skipped_while_the_run_before_it_has_not_ended(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="skip")
    for _ in range(2):
        let_pass(store, schedule, HOUR + 1)
        fire(store, schedule)
    end(store, runs_of(store, schedule)[0])
    let_pass(store, schedule, HOUR)
    fire(store, schedule)

    newest, skipped, first = ticks_of(store, schedule)
    assert [tick.outcome for tick in (first, skipped, newest)] == ["submitted", "skipped", "submitted"]
    assert (skipped.code, skipped.run_id) == ("overlap", None)
    assert str(first.run_id) in str(skipped.reason)


def test_queued_ticks_get_their_runs_one_after_another(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="queue")
    for _ in range(3):
        let_pass(store, schedule, HOUR + 1)
        fire(store, schedule)
    assert outcomes(store, schedule) == [("submitted", 1), ("queued", 1), ("queued", 1)]

    for count in (2, 3):
        end(store, runs_of(store, schedule)[-1])
        look_now(store, schedule)
        fire(store, schedule)
        assert len(runs_of(store, schedule)) == count

    assert outcomes(store, schedule) == [("submitted", 1)] * 3
    assert len({tick.run_id for tick in ticks_of(store, schedule)}) == 3
    assert (
        store.tenant(tenant).schedules.schedule(schedule.id).look_at
        == store.tenant(tenant).schedules.schedule(schedule.id).due_at
    )


def test_a_newer_tick_cancels_the_run_before_it_and_begins_when_that_has_ended(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="cancel")
    for _ in range(3):
        let_pass(store, schedule, HOUR + 1)
        fired = fire(store, schedule)
    (old,) = runs_of(store, schedule)
    assert outcomes(store, schedule) == [("submitted", 1), ("skipped", 1), ("queued", 1)]
    assert [one.to_cancel for one in fired] == [[old.id]]

    cancelled = store.coordinator.cancel_for_tick(old.id)
    assert cancelled is not None
    assert cancelled.cancel_requested_at is not None
    assert store.coordinator.cancel_for_tick(old.id) is None
    look_now(store, schedule)
    assert [one.to_cancel for one in fire(store, schedule)] == [[]]
    end(store, old)
    look_now(store, schedule)
    fire(store, schedule)

    assert outcomes(store, schedule) == [("submitted", 1), ("skipped", 1), ("submitted", 1)]
    assert store.coordinator.cancel_for_tick(old.id) is None


def test_a_trigger_submits_a_run_and_leaves_the_next_tick(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR)
    limited = store.tenant(tenant, max_unfinished_runs=1)

    tick, run = limited.schedules.trigger_schedule(schedule.name, run_of, "key:me")

    assert ticks_of(store, schedule) == [tick]
    assert (tick.triggered_by, tick.run_id) == ("key:me", run.id)
    assert store.tenant(tenant).schedules.schedule(schedule.id).due_at == schedule.due_at
    with pytest.raises(QuotaExceededError):
        limited.schedules.trigger_schedule(schedule.name, run_of, "key:me")
    assert ticks_of(store, schedule) == [tick]


def test_a_trigger_asks_about_no_overlap_and_later_ticks_ask_about_its_run(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="skip")
    mine = store.tenant(tenant).schedules

    _, first = mine.trigger_schedule(schedule.name, run_of, "key:me")
    _, second = mine.trigger_schedule(schedule.name, run_of, "key:me")
    let_pass(store, schedule, HOUR + 1)
    fire(store, schedule)

    assert [run.id for run in runs_of(store, schedule)] == [first.id, second.id]
    assert outcomes(store, schedule) == [("submitted", 1), ("submitted", 1), ("skipped", 1)]
    assert ticks_of(store, schedule)[0].code == "overlap"


def test_a_run_that_has_not_ended_is_not_forgotten_for_later_runs_that_have(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="skip")
    let_pass(store, schedule, HOUR + 1)
    fire(store, schedule)
    (waiting,) = runs_of(store, schedule)
    for _ in range(25):
        _, triggered = store.tenant(tenant).schedules.trigger_schedule(schedule.name, run_of, "key:me")
        end(store, triggered)
    let_pass(store, schedule, HOUR)
    fire(store, schedule)

    newest = ticks_of(store, schedule)[0]
    assert (newest.outcome, newest.code) == ("skipped", "overlap")
    assert waiting.id in str(newest.reason)


def test_runs_that_were_not_cancelled_yet_are_cancelled_before_others(store: Store, tenant: str) -> None:
    schedule = new_schedule(store, tenant, every=HOUR, overlap="cancel")
    started = [
        store.tenant(tenant).schedules.trigger_schedule(schedule.name, run_of, "key:me")[1].id for _ in range(25)
    ]
    let_pass(store, schedule, HOUR + 1)

    cancelled: list[str] = []
    for _ in range(2):
        look_now(store, schedule)
        for fired in fire(store, schedule):
            cancelled += [run for run in fired.to_cancel if store.coordinator.cancel_for_tick(run)]

    assert cancelled == started
