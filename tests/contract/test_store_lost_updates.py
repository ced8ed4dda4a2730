"""A status that does not change though its row was read under the run's lock: an error, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.base.waits import RetryWait
from turnwise.errors import IllegalTransitionError
from turnwise.record.asks.lost_attempts import take_over
from turnwise.record.events.run_events import RunEnded
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.kept_errors import CodedError
from turnwise.record.values.outcomes import Deferral, Parking, Reply, Resolution
from turnwise.record.values.records import Claim, NewDocument

Change = Callable[[Store, Claim], object]
_LATER = Deferral(seconds=0.0, waiting_for=RetryWait())
_PARKING = Parking(reason="unknown_outcome", error=CodedError(code="lost", message="lost"))


@contextmanager
def _unchangeable(store: Store, table: str, key: str, value: str) -> Iterator[None]:
    """Have the database leave a row as it is when its status is to change, and say nothing."""
    with store.database.begin() as connection:
        for statement in _TRIGGER[connection.dialect.name]:
            connection.execute(sa.text(statement.format(table=table, key=key, value=value)))
    try:
        yield
    finally:
        with store.database.begin() as connection:
            for statement in _NO_TRIGGER[connection.dialect.name]:
                connection.execute(sa.text(statement.format(table=table, value=value)))


_TRIGGER = {
    "sqlite": (
        'CREATE TRIGGER "stays_{value}" BEFORE UPDATE OF status ON {table} '
        "WHEN OLD.{key} = '{value}' AND NEW.status <> OLD.status BEGIN SELECT RAISE(IGNORE); END",
    ),
    "postgresql": (
        'CREATE FUNCTION "stays_{value}"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
        'CREATE TRIGGER "stays_{value}" BEFORE UPDATE OF status ON {table} FOR EACH ROW '
        "WHEN (OLD.{key} = '{value}' AND NEW.status <> OLD.status) EXECUTE FUNCTION \"stays_{value}\"()",
    ),
}
_NO_TRIGGER = {
    "sqlite": ('DROP TRIGGER "stays_{value}"',),
    "postgresql": ('DROP FUNCTION "stays_{value}" CASCADE',),
}


def _mine(store: Store) -> TenantRole:
    return store.tenant(DEFAULT_TENANT)


def _claimed(store: Store) -> Claim:
    queue = new_queue()
    asked_run(store, queue)
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    return claim


def _parked(store: Store) -> Claim:
    claim = _claimed(store)
    assert store.worker.park(claim, _PARKING)
    return claim


def _deferred(store: Store) -> Claim:
    claim = _claimed(store)
    assert store.worker.defer(claim, Deferral(seconds=0.0, waiting_for=RetryWait()))
    return claim


def _asked(store: Store) -> Claim:
    return replace(_claimed(store), run=asked_run(store, None))


def _cancel(store: Store, claim: Claim) -> None:
    with store.coordinator.locked(claim.run.id) as transaction:
        transaction.close_ask(claim.ask.id, AskStatus.CANCELLED)


def _end(store: Store, claim: Claim) -> None:
    with store.coordinator.locked(claim.run.id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
        transaction.event(RunEnded(ended=RunStatus.CANCELLED, status="KILL"))


def _take_over(store: Store, claim: Claim) -> None:
    with store.coordinator.locked(claim.run.id) as transaction:
        ask = transaction.ask(claim.ask.id)
        assert ask is not None
        take_over(transaction, ask)


def _claim_again(store: Store, claim: Claim) -> None:
    assert claim.ask.queue is not None
    store.worker.claim(claim.ask.queue, claim.worker_id)


_OF_ASKS: dict[str, tuple[Callable[[Store], Claim], Change]] = {
    "released": (_claimed, lambda store, claim: store.worker.release(claim, "drained")),
    "deferred": (_claimed, lambda store, claim: store.worker.defer(claim, _LATER)),
    "parked": (_claimed, lambda store, claim: store.worker.park(claim, _PARKING)),
    "replied to": (_claimed, lambda store, claim: store.worker.reply(claim, Reply(kind="nothing"))),
    "answered": (
        _asked,
        lambda store, claim: _mine(store).answer(claim.run.id, NewDocument(id="doc-2", body={})),
    ),
    "cancelled": (_claimed, _cancel),
    "taken over": (_claimed, _take_over),
    "resolved": (
        _parked,
        lambda store, claim: _mine(store).resolve(claim.run.id, claim.ask.id, Resolution(outcome="again")),
    ),
    "failed": (
        _parked,
        lambda store, claim: _mine(store).resolve(claim.run.id, claim.ask.id, Resolution(outcome="fail")),
    ),
}
_OF_RUNS: dict[str, tuple[Callable[[Store], Claim], Change]] = {
    "ended": (_claimed, _end),
    "deferred": (_claimed, lambda store, claim: store.worker.defer(claim, _LATER)),
    "claimed again": (_deferred, _claim_again),
}


@pytest.mark.parametrize("change", _OF_ASKS)
def test_an_ask_that_keeps_its_status_fails_its_transaction(store: Store, change: str) -> None:
    given, when = _OF_ASKS[change]
    claim = given(store)
    before = _all_of(store, claim)

    with _unchangeable(store, "asks", "run_id", claim.run.id), pytest.raises(IllegalTransitionError, match="not 1"):
        when(store, claim)

    assert _all_of(store, claim) == before


@pytest.mark.parametrize("change", _OF_RUNS)
def test_a_run_that_keeps_its_status_fails_its_transaction(store: Store, change: str) -> None:
    given, when = _OF_RUNS[change]
    claim = given(store)
    before = _all_of(store, claim)

    with _unchangeable(store, "runs", "id", claim.run.id), pytest.raises(IllegalTransitionError, match=claim.run.id):
        when(store, claim)

    assert _all_of(store, claim) == before


def test_a_claim_that_comes_too_late_has_no_ask(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)

    with _unchangeable(store, "asks", "run_id", run.id):
        assert store.worker.claim(queue, new_worker(store, queue)) is None

    assert store.worker.claim(queue, new_worker(store, queue)) is not None


def test_a_run_ends_whatever_its_asks_are(store: Store) -> None:
    claim = _claimed(store)

    with _unchangeable(store, "asks", "run_id", claim.run.id):
        _end(store, claim)

    assert store.inspector.run(claim.run.id).status == "cancelled"


def _all_of(store: Store, claim: Claim) -> object:
    return store.inspector.export(claim.run.id)
