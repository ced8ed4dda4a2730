"""Samples of the work of tenants, and the series that they make, on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from tests.support.kept_values import happen
from tests.support.store_parts import asked_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.errors import PermissionDeniedError
from turnwise.record.database.database import Database
from turnwise.record.database.sample_tables import sampled_usage, samples
from turnwise.record.database.schema import events, runs
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.reach import EVERY_TENANT, OneTenant
from turnwise.record.upkeep.sampling import LAG, MOST_SECONDS
from turnwise.record.upkeep.series import SeriesStep
from turnwise.record.values.records import Usage

STEP = 10
Sample = Callable[[], list[SeriesStep]]


@pytest.fixture
def tenant() -> str:
    return new_id("tenant")


@pytest.fixture
def sample(store: Store, database: Database, tenant: str) -> Iterator[Sample]:
    """Takes the first sample, and gives what takes another and returns the tenant's steps of it.

    Instead of waiting, it dates all that it finds back, so that it is of the time of the next sample.
    """
    _forget(database)
    assert store.coordinator.take_sample(STEP)

    def next_sample() -> list[SeriesStep]:
        _date_back(database, tenant, LAG + STEP)
        assert store.coordinator.take_sample(STEP)
        (last,) = _newest(database)
        return store.tenant(tenant).series(last, last + STEP, STEP)

    yield next_sample
    _forget(database)


def _forget(database: Database) -> None:
    with database.begin() as connection:
        connection.execute(sa.delete(samples))
        connection.execute(sa.delete(sampled_usage))


def _newest(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.scalars(sa.select(sa.func.max(samples.c.at))))


def _date_back(database: Database, tenant: str, seconds: float) -> None:
    """Samples become `STEP` older, what happened `seconds`."""
    mine = sa.select(runs.c.id).where(runs.c.tenant == tenant).scalar_subquery()
    with database.begin() as connection:
        # Each is moved by its own: the first moves to where none is.
        for at in connection.scalars(sa.select(samples.c.at).distinct().order_by(samples.c.at)).all():
            earlier = {"at": at - STEP, "until": samples.c.until - STEP}
            connection.execute(sa.update(samples).where(samples.c.at == at).values(earlier))
        connection.execute(sa.update(events).where(events.c.run_id.in_(mine)).values(at=events.c.at - seconds))
        for column in (runs.c.created_at, runs.c.finished_at):
            connection.execute(sa.update(runs).where(runs.c.tenant == tenant).values({column.name: column - seconds}))


def _use(store: Store, run_id: str, cost: str | None, tokens: int = 10) -> None:
    with store.coordinator.locked(run_id) as transaction:
        used = Usage(prompt_tokens=tokens, completion_tokens=2, cost=None if cost is None else Decimal(cost), model="m")
        transaction.add_usage(used)


def _end(store: Store, run_id: str, status: RunStatus) -> None:
    with store.coordinator.locked(run_id) as transaction:
        transaction.finish(status, "DONE")


def test_a_sample_has_what_was_done_since_the_one_before(store: Store, tenant: str, sample: Sample) -> None:
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    with store.coordinator.locked(run.id) as transaction:
        for _ in range(3):
            happen(transaction, "turn.taken", data={"document": "doc-1"})
        happen(transaction, "ask.deferred", data={})
    _use(store, run.id, "0.25")
    _use(store, run.id, None)

    (first,) = sample()
    (second,) = sample()

    assert (first.turns, first.deferrals, first.calls, first.unpriced_calls) == (3, 1, 2, 1)
    assert (first.prompt_tokens, first.completion_tokens, first.cost) == (20, 4, Decimal("0.25"))
    assert (second.turns, second.deferrals, second.calls, second.cost) == (0, 0, 0, Decimal(0))
    assert (first.running, second.running, second.backlog) == (1, 1, 1)


def test_usage_is_counted_once_also_when_a_run_comes_to_rest(store: Store, tenant: str, sample: Sample) -> None:
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    _use(store, run.id, "0.0000000015")
    (one,) = sample()
    _end(store, run.id, RunStatus.COMPLETED)
    (two,) = sample()
    other = asked_run(store, new_queue(), run={"tenant": tenant})
    _use(store, other.id, "0.0000000015", 5)
    (three,) = sample()

    # Of amounts below a billionth of a dollar nothing is lost.
    assert [step.cost for step in (one, two, three)] == [Decimal("1e-9"), 0, Decimal("2e-9")]
    assert [step.prompt_tokens for step in (one, two, three)] == [10, 0, 5]
    assert [(step.ended, step.failed) for step in (one, two, three)] == [(0, 0), (1, 0), (0, 0)]


def test_gauges_are_those_of_the_moment(store: Store, tenant: str, sample: Sample) -> None:
    queue = new_queue()
    store.tenant(tenant).submit(new_run())
    asked_run(store, queue, run={"tenant": tenant})
    assert store.worker.claim(queue, new_worker(store, queue)) is not None
    asked_run(store, queue, run={"tenant": tenant})
    asked_run(store, None, run={"tenant": tenant})
    failed = asked_run(store, queue, run={"tenant": tenant})
    _end(store, failed.id, RunStatus.FAILED)

    (step,) = sample()

    assert (step.queued, step.running, step.waiting) == (1, 3, 0)
    # An ask that is free, and the first move of the run that is queued.
    assert (step.in_flight, step.backlog, step.asking) == (1, 2, 1)
    assert (step.ended, step.failed) == (1, 1)


def test_events_that_a_fork_has_from_another_run_are_not_counted_again(
    store: Store, database: Database, tenant: str, sample: Sample
) -> None:
    fork, _ = store.tenant(tenant).submit(new_run())
    copied = {"run_id": fork.id, "type": "turn.taken", "at": fork.created_at, "data": {}}
    with database.begin() as connection:
        connection.execute(sa.insert(events), [copied | {"seq": seq} for seq in (2, 3)])
        connection.execute(sa.insert(events), [copied | {"seq": 4, "at": fork.created_at + 1}])
        made = {"created_at": fork.created_at + 1, "last_seq": 4}
        connection.execute(sa.update(runs).where(runs.c.id == fork.id).values(made))

    (step,) = sample()

    assert step.turns == 1


def test_one_sample_is_taken_of_a_time(store: Store, database: Database, sample: Sample) -> None:
    assert not Store(database).coordinator.take_sample(STEP)
    assert len(_newest(database)) == 1


def test_of_a_time_without_coordinators_nothing_is_counted(
    store: Store, database: Database, tenant: str, sample: Sample
) -> None:
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    _use(store, run.id, "1")
    with database.begin() as connection:
        connection.execute(sa.update(samples).values(until=samples.c.until - 2 * MOST_SECONDS))

    (step,) = sample()
    _use(store, run.id, "2")
    (later,) = sample()

    assert (step.seconds, step.cost, step.running) == (STEP, Decimal(0), 1)
    assert later.cost == 2


def test_a_series_puts_samples_together_and_keeps_tenants_apart(store: Store, tenant: str, sample: Sample) -> None:
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    for cost in ("1", "2"):
        _use(store, run.id, cost)
        sample()

    (step,) = store.tenant(tenant).series(0, 2**40, 2**39)
    (all_of_it,) = store.operator().series_of(None, 0, 2**40, 2**39)
    (nothing,) = store.tenant(new_id("tenant")).series(0, 2**40, 2**39)

    assert (step.at, step.cost, step.running) == (0, Decimal(3), 1)
    assert step.seconds > 2 * STEP
    assert all_of_it.cost >= 3
    assert all_of_it.running >= 1
    assert (nothing.cost, nothing.running, nothing.seconds) == (Decimal(0), 0, step.seconds)
    assert store.administrator(EVERY_TENANT).series_of(tenant, 0, 2**40, 2**39) == [step]
    for whose in (tenant, None):
        with pytest.raises(PermissionDeniedError):
            store.administrator(OneTenant("other")).series_of(whose, 0, 2**40, 2**39)


def test_old_samples_are_deleted(store: Store, database: Database, sample: Sample) -> None:
    with database.begin() as connection:
        connection.execute(sa.update(samples).values(at=samples.c.at - 5_000))
    sample()

    store.coordinator.forget_old_samples(3_600)

    assert len(store.operator().series_of(None, 0, 2**40, STEP)) == 1
