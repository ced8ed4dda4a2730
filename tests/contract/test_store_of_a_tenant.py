"""The record as one tenant has it: what is another's is not there, and there is only so much of its own."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.support.store_parts import asked_run, begun_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.errors import InvalidRequestError, NotFoundError, QuotaExceededError, TurnwiseError
from turnwise.record.database.database import Database
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.idempotency import Once
from turnwise.record.runs.outcomes import Parking, Reply, Resolution
from turnwise.record.runs.records import NewDocument, NewFork, RunFilter, Usage
from turnwise.record.states import RunStatus
from turnwise.record.store import Store

SECRET = "the secret of the owner"


@dataclass(frozen=True, kw_only=True)
class Possessions:
    """The possessions of a tenant: one thing of each kind."""

    tenant: str
    queue: str
    session: str
    asking: str
    failed: str
    parked: str
    parked_ask: str = "ask-1-1"

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the parts of it that another tenant must not see."""
        return (self.tenant, self.queue, self.session, self.asking, self.failed, self.parked, SECRET)


# Nothing of this is there.
MISSING = Possessions(
    tenant="nobody", queue="no-queue", session="no-session", asking="run_0", failed="run_1", parked="run_2"
)
# Calls a method about what `its` names, as the tenant of that name.
Case = Callable[[Store, str, Possessions], object]


def _once(store: Store, tenant: str) -> TenantRole:
    return store.tenant(tenant, once=Once(tenant=tenant, key="k", digest="d"))


def _fork(run: str) -> NewFork:
    return NewFork(id=new_id("run"), at=1, version="1", idempotency_key="forked", body_hash="h")


def _today() -> date:
    return datetime.now(UTC).date()


CASES: dict[str, Case] = {
    "answer": lambda store, me, its: store.tenant(me).answer(its.asking, NewDocument(id="d", body={})),
    "ask_of_run": lambda store, me, its: store.tenant(me).ask_of_run(its.asking, "ask-1-1"),
    "change_limits": lambda store, me, its: store.tenant(me).change_limits(its.asking, max_tokens=5),
    "check_not_done": lambda store, me, its: _once(store, me).check_not_done(),
    "delete_session": lambda store, me, its: store.tenant(me).delete_session(its.session),
    "document": lambda store, me, its: store.tenant(me).document(its.asking, "doc-2"),
    "events": lambda store, me, its: store.tenant(me).events(its.asking),
    "events_of": lambda store, me, its: store.tenant(me).events_of(its.asking, ["turn.asked"]),
    "for_part": lambda store, me, its: _once(store, me).for_part("x").check_not_done(),
    "fork": lambda store, me, its: store.tenant(me).fork(its.failed, _fork(its.failed)),
    "frames_of": lambda store, me, its: store.tenant(me).frames_of(its.asking),
    "keep_choice": lambda store, me, its: _once(store, me).keep_choice("mine"),
    "now": lambda store, me, its: store.tenant(me).now(),
    "open_questions": lambda store, me, its: store.tenant(me).open_questions(),
    "parked_ask": lambda store, me, its: store.tenant(me).parked_ask(its.parked, its.parked_ask),
    "parked_asks": lambda store, me, its: store.tenant(me).parked_asks(),
    "paused_queues": lambda store, me, its: store.tenant(me).paused_queues() - {its.queue},
    "queue_stats": lambda store, me, its: store.tenant(me).queue_stats(),
    "request_cancel": lambda store, me, its: store.tenant(me).request_cancel(its.asking),
    "resolve": lambda store, me, its: store.tenant(me).resolve(its.parked, "ask-1-1", Resolution(outcome="fail")),
    "retry": lambda store, me, its: store.tenant(me).retry(its.failed),
    "run": lambda store, me, its: store.tenant(me).run(its.asking),
    "runs": lambda store, me, its: store.tenant(me).runs(RunFilter(tenant=its.tenant)),
    "serving_workers": lambda store, me, its: store.tenant(me).serving_workers() - Counter([its.queue]),
    "session": lambda store, me, its: store.tenant(me).session(its.session),
    "situation": lambda store, me, its: store.tenant(me).situation(its.asking),
    "situations": lambda store, me, its: store.tenant(me).situations([its.asking, its.failed]),
    "submit": lambda store, me, its: store.tenant(me).submit(new_run(idempotency_key="own", body_hash="h")),
    "usage": lambda store, me, its: store.tenant(me).usage(_today() - timedelta(days=1), _today() + timedelta(days=1)),
}
# They tell of the installation, and the same to everyone.
OF_THE_INSTALLATION = {"now", "paused_queues", "serving_workers"}


@pytest.fixture
def owned(store: Store) -> Iterator[Possessions]:
    """The possessions of a tenant, whose pause ends with the test: claims look at pauses of any tenant."""
    tenant, queue, session = new_id("tenant"), new_queue(), new_id("session")
    role, worker = store.tenant(tenant), new_worker(store, queue)
    asking = asked_run(store, None, run={"tenant": tenant, "session_id": session, "metadata": {"about": SECRET}})
    with store.coordinator.locked(asking.id) as transaction:
        transaction.put_document("doc-2", {"content": SECRET})
        transaction.save_frame(1, {"step": SECRET})
    failed, _ = role.submit(new_run(idempotency_key="own", body_hash="h"))
    with store.coordinator.locked(failed.id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")
    parked = asked_run(store, queue, run={"tenant": tenant})
    claim = store.worker.claim(queue, worker)
    assert claim is not None
    store.worker.park(claim, Parking(reason="unknown_outcome", usage=Usage(model=SECRET)))
    asked_run(store, queue, run={"tenant": tenant})
    once = _once(store, tenant)
    once.keep_choice(asking.id)
    once.for_part("x").request_cancel(asking.id)
    with store.coordinator.locked(asking.id) as transaction:
        transaction.change(cancel_requested_at=None)
    store.operator().pause("tenant", tenant)
    yield Possessions(tenant=tenant, queue=queue, session=session, asking=asking.id, failed=failed.id, parked=parked.id)
    store.operator().resume("tenant", tenant)


def outcome(store: Store, case: Case, me: str, its: Possessions) -> str:
    """Return the result of a call, or its refusal, as text."""
    try:
        return repr(case(store, me, its))
    except TurnwiseError as error:
        return f"{type(error).__name__}: {error}"


def possessions(store: Store, its: Possessions) -> list[str]:
    """All rows that say that they are of one of the owner's things."""
    rows = [row for table in store.inspector.everything().values() for row in table]
    return [text for text in map(repr, rows) if any(mark in text for mark in its.marks)]


def test_every_method_of_the_tenant_s_role_has_a_case() -> None:
    methods = {name for name, _ in inspect.getmembers(TenantRole, callable) if not name.startswith("_")}

    assert set(CASES) == methods


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_another_tenant_is_seen_or_changed(store: Store, owned: Possessions, name: str) -> None:
    before, stranger = possessions(store, owned), new_id("stranger")

    refused = outcome(store, CASES[name], stranger, owned)
    missing = outcome(store, CASES[name], new_id("stranger"), MISSING)

    if refused.startswith("NotFoundError"):
        # It is told the same as of a thing that there is not.
        for field in fields(Possessions):
            refused = refused.replace(getattr(owned, field.name), getattr(MISSING, field.name))
        assert refused == missing
    else:
        assert [mark for mark in owned.marks if mark in refused] == []
    assert possessions(store, owned) == before


@pytest.mark.parametrize("name", sorted(set(CASES) - OF_THE_INSTALLATION))
def test_the_owner_gets_what_the_other_does_not(store: Store, owned: Possessions, name: str) -> None:
    before = possessions(store, owned)

    told = outcome(store, CASES[name], owned.tenant, owned)

    assert not told.startswith("NotFoundError")
    assert any(mark in told for mark in owned.marks) or possessions(store, owned) != before


@pytest.mark.parametrize("name", [None, "", "a/b", " "])
def test_no_role_is_made_without_a_tenant(store: Store, name: Any) -> None:
    with pytest.raises(InvalidRequestError):
        store.tenant(name)


def test_lists_have_the_tenant_s_own_things_only(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    mine, theirs = store.tenant(tenant), store.tenant(new_id("tenant"))
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
        store.tenant(other).session(session)
    with pytest.raises(NotFoundError):
        store.tenant(other).delete_session(session)
    assert store.tenant(one).session(session).unfinished == 1


def test_so_many_runs_at_a_time_however_many_are_submitted_at_once(database: Database) -> None:
    tenant = new_id("tenant")
    store = Store(database).tenant(tenant, max_unfinished_runs=3)

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
    mine = store.tenant(new_id("tenant"), max_unfinished_runs=1)
    run, _ = mine.submit(new_run(idempotency_key="k", body_hash="h"))

    assert mine.submit(new_run(idempotency_key="k", body_hash="h")) == (run, False)
    with pytest.raises(QuotaExceededError, match="it may have 1 at a time"):
        mine.fork(run.id, NewFork(id=new_id("run"), at=1, version="1"))
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    assert mine.submit(new_run())[1]


def test_what_is_used_is_summed_by_day_task_and_model_as_it_is_for_the_runs(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    worker = new_worker(store, queue)
    for model, cost in (("large", "0.1"), ("large", "0.2"), ("small", "0.0000001"), (None, None)):
        asked_run(store, queue, run={"tenant": tenant})
        claim = store.worker.claim(queue, worker)
        assert claim is not None
        used = Usage(
            prompt_tokens=10,
            cached_tokens=4,
            completion_tokens=2,
            cost=None if cost is None else Decimal(cost),
            model=model,
        )
        assert store.worker.reply(claim, Reply(kind="answer", usage=used))
    today = datetime.now(UTC).date()

    rows = store.tenant(tenant).usage(today - timedelta(days=1), today + timedelta(days=1))

    assert [(row.task, row.model, row.calls, row.unpriced_calls, row.cost) for row in rows] == [
        ("triage", "", 1, 1, Decimal(0)),
        ("triage", "large", 2, 0, Decimal("0.3")),
        ("triage", "small", 1, 0, Decimal("0.0000001")),
    ]
    runs, _ = store.tenant(tenant).runs()
    assert sum(row.cost for row in rows) == sum(run.cost for run in runs)
    assert sum(row.prompt_tokens for row in rows) == sum(run.prompt_tokens for run in runs) == 40
    assert store.tenant(new_id("tenant")).usage(today, today) == []
    assert store.tenant(tenant).usage(today - timedelta(days=9), today - timedelta(days=2)) == []
