"""The record as one tenant has it: what is another's is not there, and there is only so much of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from tests.support.store_parts import asked_run, begun_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.errors import NotFoundError, QuotaExceededError
from turnwise.record.database.database import Database
from turnwise.record.runs.outcomes import Reply, Resolution
from turnwise.record.runs.records import NewDocument, NewFork, RunFilter, Usage
from turnwise.record.states import RunStatus
from turnwise.record.store import Store

Attempt = Callable[[Store, str], object]

ATTEMPTS: dict[str, Attempt] = {
    "run": lambda store, run: store.run(run),
    "situation": lambda store, run: store.situation(run),
    "lock": lambda store, run: store.locked(run).__enter__(),
    "cancel": lambda store, run: store.request_cancel(run),
    "limits": lambda store, run: store.change_limits(run, max_tokens=5),
    "retry": lambda store, run: store.retry(run),
    "fork": lambda store, run: store.fork(run, NewFork(id=new_id("run"), at=1, version="1")),
    "answer": lambda store, run: store.answer(run, NewDocument(id="d", body={})),
    "resolve": lambda store, run: store.resolve(run, "ask-1-1", Resolution(outcome="again")),
    "parked ask": lambda store, run: store.parked_ask(run, "ask-1-1"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_another_tenant_s_run_is_not_there(store: Store, attempt: Attempt) -> None:
    run = asked_run(store, None, run={"tenant": new_id("tenant")})
    before = store.run(run.id)

    with pytest.raises(NotFoundError) as refused:
        attempt(store.of(new_id("tenant")), run.id)
    with pytest.raises(NotFoundError) as missing:
        attempt(store, "run_0")

    assert str(refused.value).replace(run.id, "run_0") == str(missing.value)
    assert store.run(run.id) == before


def test_lists_have_the_tenant_s_own_things_only(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    mine, theirs = store.of(tenant), store.of(new_id("tenant"))
    asking = asked_run(store, None, run={"tenant": tenant})
    waiting = asked_run(store, queue, run={"tenant": tenant})

    assert {run.id for run in mine.runs()[0]} == {asking.id, waiting.id}
    assert [ask.run_id for ask in mine.open_questions()] == [asking.id]
    assert [stat.queue for stat in mine.queue_stats()] == [queue]
    assert [len(mine.events(asking.id)), len(mine.frames_of(asking.id))] == [2, 1]
    assert mine.document(asking.id, "doc-1") is not None

    assert theirs.runs(RunFilter(tenant=tenant))[0] == []
    assert (theirs.open_questions(), theirs.queue_stats()) == ([], [])
    assert (theirs.events(asking.id), theirs.frames_of(asking.id), theirs.situations([asking.id])) == ([], [], [])
    assert theirs.document(asking.id, "doc-1") is None


def test_the_same_session_id_is_another_session_for_another_tenant(store: Store) -> None:
    session, one, other = new_id("session"), new_id("tenant"), new_id("tenant")
    begun_run(store, session, tenant=one)

    with pytest.raises(NotFoundError):
        store.of(other).session(session)
    with pytest.raises(NotFoundError):
        store.of(other).delete_session(session)
    assert store.of(one).session(session).unfinished == 1


def test_a_new_run_is_the_tenant_s_whatever_it_says(store: Store) -> None:
    tenant = new_id("tenant")

    run, _ = store.of(tenant).submit(new_run(tenant="other"))

    assert run.tenant == tenant


def test_so_many_runs_at_a_time_however_many_are_submitted_at_once(database: Database) -> None:
    tenant = new_id("tenant")
    store = Store(database).of(tenant, max_unfinished_runs=3)

    def submit(_: int) -> bool:
        try:
            return store.submit(new_run())[1]
        except QuotaExceededError as error:
            assert error.code == "too_many_runs"
            return False

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(submit, range(16)))

    assert accepted == 3


def test_who_is_at_the_limit_may_repeat_a_request_and_go_on_after_an_end(store: Store) -> None:
    mine = store.of(new_id("tenant"), max_unfinished_runs=1)
    run, _ = mine.submit(new_run(idempotency_key="k", body_hash="h"))

    assert mine.submit(new_run(idempotency_key="k", body_hash="h")) == (run, False)
    with pytest.raises(QuotaExceededError, match="it may have 1 at a time"):
        mine.fork(run.id, NewFork(id=new_id("run"), at=1, version="1"))
    with store.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    assert mine.submit(new_run())[1]


def test_what_is_used_is_summed_by_day_task_and_model_as_it_is_for_the_runs(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    worker = new_worker(store, queue)
    for model, cost in (("large", "0.1"), ("large", "0.2"), ("small", "0.0000001"), (None, None)):
        asked_run(store, queue, run={"tenant": tenant})
        claim = store.claim(queue, worker)
        assert claim is not None
        used = Usage(
            prompt_tokens=10,
            cached_tokens=4,
            completion_tokens=2,
            cost=None if cost is None else Decimal(cost),
            model=model,
        )
        assert store.reply(claim, Reply(kind="answer", usage=used))
    today = datetime.now(UTC).date()

    rows = store.of(tenant).usage(today - timedelta(days=1), today + timedelta(days=1))

    assert [(row.task, row.model, row.calls, row.unpriced_calls, row.cost) for row in rows] == [
        ("triage", "", 1, 1, Decimal(0)),
        ("triage", "large", 2, 0, Decimal("0.3")),
        ("triage", "small", 1, 0, Decimal("0.0000001")),
    ]
    runs, _ = store.of(tenant).runs()
    assert sum(row.cost for row in rows) == sum(run.cost for run in runs)
    assert sum(row.prompt_tokens for row in rows) == sum(run.prompt_tokens for run in runs) == 40
    assert store.of(new_id("tenant")).usage(today, today) == []
    assert store.of(tenant).usage(today - timedelta(days=9), today - timedelta(days=2)) == []
