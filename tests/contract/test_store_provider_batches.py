"""Calls that wait for a batch of their provider, and the batches, on every database."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.store_parts import asked_run, damaged, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import ProviderBatchWait
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import Granted, ModelCall
from turnwise.record.asks.pauses import KINDS, PauseKind
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.events.usage_events import read_usage
from turnwise.record.provider_batches.batches import ProviderBatch
from turnwise.record.provider_batches.results import UnusedAnswer
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.outcomes import CallUsage, CollectedRequest, Deferral, Reply
from turnwise.record.values.records import Claim, Usage

ANSWER: dict[str, Any] = {"choices": [{"message": {"content": "hello"}}]}
USAGE = Usage(prompt_tokens=10, completion_tokens=2, cost=Decimal("0.25"), model="m")
DOUBTED = Usage(model="m", doubt="prompt_tokens is -1")
CALL = ModelCall(
    model="m", prompt=lambda: 10, price=lambda i, o: Amount(prompt_tokens=i, output_tokens=o, cost=Decimal(1))
)


class Waiting:
    """Runs whose calls are collected for a provider of the test's own, and a worker."""

    def __init__(self, store: Store) -> None:
        self.store, self.provider, self.queue = store, new_id("provider"), new_queue()
        self.me = new_worker(store, self.queue)

    def claim(self) -> Claim:
        claim = self.store.worker.claim(self.queue, self.me)
        assert claim is not None
        return claim

    def collected(self, seconds: float = 3_600.0, **run: Any) -> Claim:
        """An ask whose call was collected, with what was reserved for it."""
        asked_run(self.store, self.queue, run={"max_cost": Decimal(5)} | run)
        claim = self.claim()
        assert isinstance(self.store.worker.reserve(claim, 1, CALL, NO_SCOPE_LIMITS), Granted)
        return self.deferred(claim, seconds, call_no=1)

    def collected_free(self) -> Claim:
        """An ask whose call was collected, of a run without a limit."""
        asked_run(self.store, self.queue)
        return self.deferred(self.claim(), 3_600.0, call_no=None)

    def deferred(self, claim: Claim, seconds: float, call_no: int | None) -> Claim:
        """The claim, whose ask waits now for a batch."""
        until = self.store.worker.now() + seconds
        request = CollectedRequest(provider=self.provider, model="m", body={"n": 1}, until=until, call_no=call_no)
        waiting_for = ProviderBatchWait(model="m")
        assert self.store.worker.defer(claim, Deferral(seconds=seconds, waiting_for=waiting_for, collect=request))
        return claim

    def opened(self, most: int = 1, seconds: float = 600.0) -> ProviderBatch | None:
        return self.store.worker.provider_batches.open_batch([self.provider], most, seconds, self.me, 60.0)

    def due(self, holder: str | None = None) -> ProviderBatch | None:
        return self.store.worker.provider_batches.due_batch([self.provider], holder or self.me, 60.0)

    def batch(self) -> ProviderBatch:
        batch = self.opened()
        assert batch is not None
        return batch

    def kept(self, batch: ProviderBatch, claim: Claim, usage: Usage = USAGE) -> Any:
        return self.store.worker.provider_batches.keep_response(batch.id, claim.ask.run_id, claim.ask.id, ANSWER, usage)

    def put_back(self, batch: ProviderBatch, claim: Claim, most_tries: int = 2, error: str = "no") -> Any:
        place = (batch.id, claim.ask.run_id, claim.ask.id)
        return self.store.worker.provider_batches.put_back(*place, error, most_tries=most_tries)

    def held(self, claim: Claim) -> Decimal:
        return self.store.inspector.run(claim.ask.run_id).reserved_cost

    def rows(self) -> int:
        with self.store.database.read() as connection:
            mine = collected_asks.c.provider == self.provider
            return connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one()


@pytest.fixture
def waiting(store: Store) -> Waiting:
    return Waiting(store)


def test_a_collected_call_waits_keeps_its_reservation_and_is_answered_once(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()
    assert waiting.held(claim) == 1
    assert store.inspector.run(claim.ask.run_id).status == "waiting"
    assert store.worker.claim(waiting.queue, waiting.me) is None
    assert waiting.provider in store.worker.provider_batches.batching_providers()

    batch = waiting.batch()
    assert [(call.run_id, call.request) for call in store.worker.provider_batches.batched_calls(batch.id)] == [
        (claim.ask.run_id, {"n": 1})
    ]
    ask = waiting.kept(batch, claim)
    assert ask.id == claim.ask.id
    assert waiting.kept(batch, claim) == "unknown"

    again = waiting.claim()
    found = store.worker.collected(again)
    assert found is not None and found.response == ANSWER
    calls = (CallUsage(usage=USAGE, collected=True),)
    assert store.worker.reply(again, Reply(kind="answer", usage=USAGE, calls=calls))
    run = store.inspector.run(claim.ask.run_id)
    assert (run.cost, run.calls, run.reserved_cost) == (Decimal("0.25"), 1, Decimal(0))
    assert waiting.rows() == 0


def test_an_answer_counts_once_however_many_use_it(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()
    batch = waiting.batch()
    waiting.kept(batch, claim)
    lost = waiting.claim()
    assert store.worker.release(lost, "database_away")
    again = waiting.claim()
    late = Reply(kind="answer", usage=USAGE, calls=(CallUsage(usage=USAGE, collected=True),))
    assert store.worker.reply(again, late)
    assert not store.worker.reply(lost, late)
    assert store.inspector.run(claim.ask.run_id).calls == 1


def test_a_batch_is_made_of_so_many_calls_or_of_old_ones(waiting: Waiting, store: Store) -> None:
    claims = [waiting.collected() for _ in range(3)]
    assert waiting.opened(most=4) is None
    batch = waiting.opened(most=2)
    assert batch is not None and len(store.worker.provider_batches.batched_calls(batch.id)) == 2
    assert waiting.opened(most=2) is None
    old = waiting.opened(most=2, seconds=0.0)
    assert old is not None
    assert [call.run_id for call in store.worker.provider_batches.batched_calls(old.id)] == [claims[2].ask.run_id]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_paused_is_in_no_batch_and_not_late(waiting: Waiting, store: Store, kind: PauseKind) -> None:
    names = {"queue": waiting.queue, "task": new_id("task"), "tenant": new_id("tenant")}
    claim = waiting.collected(task=names["task"], tenant=names["tenant"])
    long_ago = sa.update(collected_asks).where(collected_asks.c.ask_id == claim.ask.id).values(collected_at=1.0)
    with store.database.begin() as connection:
        connection.execute(long_ago)
    late = store.worker.now() - 1_000_000.0  # earlier than anything else in the database
    assert store.monitor.batch_lane().oldest > late

    store.operator().pause(kind, names[kind])
    try:
        assert waiting.opened() is None
        assert waiting.opened(most=10, seconds=0.0) is None
        assert store.monitor.batch_lane().oldest < late
    finally:
        store.operator().resume(kind, names[kind])

    assert [call.run_id for call in store.worker.provider_batches.batched_calls(waiting.batch().id)] == [claim.run.id]


def test_what_is_paused_leaves_its_place_in_a_batch_to_others(waiting: Waiting, store: Store) -> None:
    paused, task = new_id("tenant"), new_id("task")
    waiting.collected(tenant=paused, task=task)
    free = waiting.collected(task=task)

    store.operator().pause("tenant", paused)
    try:
        batch = waiting.batch()
    finally:
        store.operator().resume("tenant", paused)

    assert [call.run_id for call in store.worker.provider_batches.batched_calls(batch.id)] == [free.run.id]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_paused_leaves_a_batch_that_its_provider_does_not_have(
    waiting: Waiting, store: Store, kind: PauseKind
) -> None:
    names = {"queue": waiting.queue, "task": new_id("task"), "tenant": new_id("tenant")}
    waiting.collected(task=names["task"], tenant=names["tenant"])
    batch = waiting.batch()
    batches = store.worker.provider_batches

    store.operator().pause(kind, names[kind])
    try:
        batches.hold_back_paused(batch.id, new_id("worker"))  # which does not hold the batch
        kept = len(batches.batched_calls(batch.id))
        batches.hold_back_paused(batch.id, waiting.me)
        assert (kept, batches.batched_calls(batch.id)) == (1, [])
        assert waiting.opened() is None
    finally:
        store.operator().resume(kind, names[kind])

    assert len(batches.batched_calls(waiting.batch().id)) == 1


def test_what_its_provider_has_stays_in_its_batch_during_a_pause(waiting: Waiting, store: Store) -> None:
    tenant = new_id("tenant")
    waiting.collected(tenant=tenant)
    batch = waiting.batch()
    batches = store.worker.provider_batches
    assert batches.note_submitted(batch.id, waiting.me, "remote", "file", 0.0)
    assert waiting.due() is not None

    store.operator().pause("tenant", tenant)
    try:
        batches.hold_back_paused(batch.id, waiting.me)
    finally:
        store.operator().resume("tenant", tenant)

    assert len(batches.batched_calls(batch.id)) == 1


def test_a_batch_belongs_to_one_worker_until_that_dies(waiting: Waiting, store: Store) -> None:
    waiting.collected()
    batch = waiting.batch()
    other = new_worker(store, waiting.queue)
    assert waiting.due(other) is None
    store.process.retire_worker(waiting.me)
    taken = waiting.due(other)
    assert taken is not None and (taken.id, taken.remote_id) == (batch.id, None)
    # The first was only slow: what it has submitted is not what counts.
    assert not store.worker.provider_batches.note_submitted(batch.id, waiting.me, "remote_1", "file_1", 0.0)
    assert store.worker.provider_batches.note_submitted(batch.id, other, "remote_2", "file_2", 0.0)
    found = waiting.due(other)
    assert found is not None and found.remote_id == "remote_2"
    store.worker.provider_batches.look_again(batch.id, other, 600.0)
    assert waiting.due(other) is None


def test_what_a_batch_did_not_answer_is_collected_again_and_then_called_directly(
    waiting: Waiting, store: Store
) -> None:
    claim = waiting.collected()
    assert waiting.put_back(waiting.batch(), claim) == "again"
    assert waiting.held(claim) == 1
    ask = waiting.put_back(waiting.batch(), claim)
    assert ask.id == claim.ask.id
    assert waiting.held(claim) == 0
    again = waiting.claim()
    found = store.worker.collected(again)
    assert found is not None and found.response is None and found.until <= store.worker.now()
    assert waiting.opened(seconds=0.0) is None


def test_a_provider_may_refuse_a_call_with_a_text_that_no_database_keeps(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()

    assert waiting.put_back(waiting.batch(), claim, error="odd: \0 and \ud800") == "again"

    call = store.inspector.situation(claim.run.id).collected
    assert call is not None
    assert call.error == "odd: \ufffd and ?"


def test_an_answer_for_an_ask_that_no_longer_waits_is_only_counted(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()
    batch = waiting.batch()
    with store.coordinator.locked(claim.ask.run_id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    assert not store.worker.provider_batches.batched_calls(batch.id)[0].wanted
    unused = waiting.kept(batch, claim)
    assert isinstance(unused, UnusedAnswer)
    assert (unused.run.id, unused.usage) == (claim.run.id, USAGE)
    run = store.inspector.run(claim.ask.run_id)
    assert (run.cost, run.calls, run.reserved_cost) == (Decimal("0.25"), 1, Decimal(0))
    store.worker.provider_batches.close_batch(batch.id)
    assert waiting.provider not in store.worker.provider_batches.batching_providers()


def test_a_doubted_usage_is_kept_as_what_was_reserved_for_the_call(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()
    waiting.kept(waiting.batch(), claim, DOUBTED)

    found = store.worker.collected(waiting.claim())

    assert found is not None and found.usage is not None
    assert read_usage(found.usage) == replace(DOUBTED, prompt_tokens=10, cost=Decimal(1))


def test_a_doubted_usage_of_an_answer_of_no_use_is_counted_as_reserved(waiting: Waiting, store: Store) -> None:
    limited, free = waiting.collected(), waiting.collected_free()
    for claim in (limited, free):
        batch = waiting.batch()
        with store.coordinator.locked(claim.ask.run_id) as transaction:
            transaction.finish(RunStatus.CANCELLED, "KILL")
        assert isinstance(waiting.kept(batch, claim, DOUBTED), UnusedAnswer)

    run = store.inspector.run(limited.ask.run_id)
    assert (run.cost, run.prompt_tokens, run.calls, run.reserved_cost) == (Decimal(1), 10, 1, Decimal(0))
    # Nothing was reserved for it, so nothing is known of it.
    run = store.inspector.run(free.ask.run_id)
    assert (run.cost, run.prompt_tokens, run.calls, run.unpriced_calls) == (Decimal(0), 0, 1, 1)


def test_a_run_is_not_deleted_before_the_usage_of_its_call_is_counted(waiting: Waiting, store: Store) -> None:
    old = Retention(older_than=0)

    def may_go(claim: Claim) -> bool:
        return store.coordinator.purge_run(claim.run.id, old)

    submitted, answered, collected = (waiting.collected_free() for _ in range(3))
    late, soon = waiting.batch(), waiting.batch()
    waiting.kept(soon, answered)
    for claim in (submitted, answered, collected):
        with store.coordinator.locked(claim.run.id) as transaction:
            transaction.finish(RunStatus.CANCELLED, "KILL")

    # The last one was sent to no provider.
    assert [may_go(claim) for claim in (submitted, answered, collected)] == [False, False, True]

    waiting.kept(late, submitted)
    cleared = store.worker.provider_batches.clear_collected([waiting.provider])
    assert [(answer.run.id, answer.usage) for answer in cleared.unused] == [(answered.run.id, USAGE)]
    assert [store.inspector.run(claim.run.id).cost for claim in (submitted, answered)] == [USAGE.cost, USAGE.cost]
    assert [may_go(claim) for claim in (submitted, answered)] == [True, True]


def test_calls_of_no_use_are_cleared_although_the_run_of_one_is_damaged(
    waiting: Waiting, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = waiting.collected(), waiting.collected()
    for claim in (broken, sound):
        with store.coordinator.locked(claim.ask.run_id) as transaction:
            transaction.finish(RunStatus.CANCELLED, "KILL")

    with damaged(store, broken.run.id):
        assert store.worker.provider_batches.clear_collected([waiting.provider]).calls == 1
    assert [(line.action, line.run) for line in caplog.records if line.levelname == "ERROR"] == [  # type: ignore[attr-defined]
        ("run_not_swept", broken.run.id)
    ]
    assert [waiting.held(claim) for claim in (broken, sound)] == [1, 0]
    assert store.worker.provider_batches.clear_collected([waiting.provider]).calls == 1


def test_what_no_batch_has_is_released_when_its_time_is_over_or_its_run_has_ended(
    waiting: Waiting, store: Store
) -> None:
    ended, waits, late = waiting.collected(), waiting.collected(), waiting.collected(seconds=0.0)
    with store.coordinator.locked(ended.ask.run_id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    assert store.worker.provider_batches.clear_collected([waiting.provider]).calls == 2
    assert [waiting.held(claim) for claim in (ended, late, waits)] == [0, 0, 1]
    assert store.worker.provider_batches.clear_collected([waiting.provider]).calls == 0
    assert waiting.rows() == 2


def test_a_batch_is_made_for_a_provider_behind_one_whose_calls_cannot_be_taken(waiting: Waiting, store: Store) -> None:
    ended, other = waiting.collected(), Waiting(store)
    other.collected()
    both = [waiting.provider, other.provider]
    with store.coordinator.locked(ended.ask.run_id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")

    assert store.worker.provider_batches.open_batch([waiting.provider], 1, 0.0, waiting.me, 60.0) is None
    made = store.worker.provider_batches.open_batch(both, 1, 0.0, waiting.me, 60.0)

    assert made is not None and made.provider == other.provider


def test_calls_that_another_worker_takes_do_not_keep_a_later_provider_waiting(waiting: Waiting, store: Store) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    waiting.collected()
    other = Waiting(store)
    other.collected()
    both = [waiting.provider, other.provider]
    taken = sa.select(collected_asks.c.ask_id).where(collected_asks.c.provider == waiting.provider).with_for_update()

    with store.database.begin() as connection:
        connection.execute(taken)
        made = store.worker.provider_batches.open_batch(both, 1, 0.0, waiting.me, 60.0)

    assert made is not None and made.provider == other.provider


def test_a_reservation_outlives_the_worker_that_made_it(waiting: Waiting, store: Store) -> None:
    claim = waiting.collected()
    store.process.retire_worker(waiting.me)
    store.coordinator.settle_orphans()
    assert waiting.held(claim) == 1


def test_results_of_a_run_that_was_deleted_are_of_no_use(waiting: Waiting) -> None:
    claim = waiting.collected()
    batch = waiting.batch()
    gone = new_id("run")
    assert waiting.store.worker.provider_batches.keep_response(batch.id, gone, claim.ask.id, ANSWER, USAGE) == "unknown"
    assert waiting.store.worker.provider_batches.put_back(batch.id, gone, claim.ask.id, "no", most_tries=1) == "unknown"
