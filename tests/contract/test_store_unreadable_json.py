"""Documents with a NUL or half of a surrogate pair, out of which PostgreSQL reads no part, on each database."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.store_parts import asked_run, claimed, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import BudgetWait, OutageWait, PauseWait, RetryWait, RunWait, UpgradeWait
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Caps
from turnwise.record.database.columns import parts_of
from turnwise.record.database.database import Database
from turnwise.record.database.schema import runs
from turnwise.record.runs.outlines import OutlineFilter
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.values.outcomes import Deferral, ProviderDown
from turnwise.record.values.records import RunFilter, RunRecord

HOURS = 3_600.0


@pytest.fixture(params=["a \0 b", "half \ud800"], ids=["nul", "half-a-pair"])
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tenant() -> str:
    return new_id("tenant")


def _waiting(store: Store, wait: RunWait, **run: Any) -> RunRecord:
    made = asked_run(store, new_queue(), run=run)
    with store.coordinator.locked(made.id) as transaction:
        transaction.change(status=RunStatus.WAITING, waiting_for=wait)
        return transaction.run


def _retry(text: str) -> RetryWait:
    return RetryWait(agent="desk", error={"type": "LookupError", "message": text})


def test_a_run_that_waits_is_in_gauges_and_outlines(store: Store, tenant: str, text: str) -> None:
    task, before = new_id("task"), store.monitor.waiting_runs().get("retry", 0)
    _waiting(store, _retry(text), tenant=tenant, task=task)

    assert store.monitor.waiting_runs()["retry"] == before + 1
    assert [wait.kind for wait in store.monitor.oldest_waits() if wait.task == task] == ["retry"]
    assert task not in [forgotten.task for forgotten in store.monitor.forgotten_runs()]
    assert [one.waits_for for one in store.operator().outlines(tenant, OutlineFilter())] == ["retry"]


def test_a_sweep_finds_the_runs_that_it_can_go_on_with(store: Store, text: str) -> None:
    run = _waiting(store, UpgradeWait(state=3, known=2, rest={"why": text}))
    with store.coordinator.locked(run.id) as transaction:
        transaction.change(move_due_at=transaction.now + 5.0)

    assert run.id in store.coordinator.due_moves(limit=1_000, state=3)
    assert run.id not in store.coordinator.due_moves(limit=1_000, state=2)


def test_a_run_goes_on_after_a_pause(store: Store, text: str) -> None:
    task = new_id("task")
    run, _ = store.tenant(new_id("tenant")).submit(new_run(task=task))
    with store.coordinator.locked(run.id) as transaction:
        held = PauseWait(scope="task", name=task, rest={"why": text})
        transaction.change(waiting_for=held, move_due_at=None)
    operator = store.operator()
    operator.pause("task", task)
    operator.resume("task", task)

    freed = []
    while (ended := store.coordinator.let_go()) is not None:
        freed += [one.id for one in ended.runs]
    assert run.id in freed


def test_a_run_goes_on_after_a_long_outage(store: Store, text: str) -> None:
    queue = new_queue()
    worker = new_worker(store, queue)
    target = Target(provider=Provider(server="http://models", model=new_id("model"), account="k"), caps=Caps())
    asleep = OutageWait(model="m", error={"type": "ModelUnavailableError", "message": text})
    down = ProviderDown(wait=lambda _failed: HOURS, probed=True)
    asked = [asked_run(store, queue) for _ in range(6)]
    for _ in asked:
        line = ProviderWait(target=target, tokens=0)
        deferral = Deferral(seconds=HOURS, waiting_for=asleep, provider=line, down=down)
        assert store.worker.defer(claimed(store, queue, worker), deferral)

    store.worker.provider_answered(target.provider.id)

    found = [store.inspector.situation(run.id).ask for run in asked]
    assert [ask is not None and ask.due_at for ask in found] == [None] * 6


def test_a_run_looks_again_at_a_limit_that_has_changed(store: Store, tenant: str, text: str) -> None:
    queue = new_queue()
    asked_run(store, queue, run={"tenant": tenant})
    claim = claimed(store, queue, new_worker(store, queue))
    wait = BudgetWait(scope="tenant_day", limit="cost", rest={"why": text})
    assert store.worker.defer(claim, Deferral(seconds=HOURS, waiting_for=wait))
    store.operator().set_tenant_limits(tenant, TenantLimits())

    store.coordinator.budgets.look_again(known_after=0.0)

    ask = store.inspector.situation(claim.run.id).ask
    assert ask is not None
    assert ask.due_at is None


def test_failed_runs_are_found_by_their_error_and_told_by_it(
    store: Store, database: Database, tenant: str, text: str
) -> None:
    run, _ = store.tenant(tenant).submit(new_run())
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")
    # An earlier version kept an error with its text as it was.
    kept = {"type": "LookupErrör", "kind": "odd", "code": "lookup", "message": text}
    with database.begin() as connection:
        connection.execute(sa.update(runs).where(runs.c.id == run.id).values(error=kept))

    found, _ = store.tenant(tenant).runs(RunFilter(errors=("LookupErrör",)))
    outlines = store.operator().outlines(tenant, OutlineFilter())

    assert [one.id for one in found] == [run.id]
    assert [(one.error_kind, one.error_code) for one in outlines] == [("odd", "lookup")]


def test_a_conversation_is_found_beside_others(store: Store, tenant: str, text: str) -> None:
    other, _ = store.tenant(tenant).submit(new_run(message={"content": text, "conversation": "other"}))
    mine, _ = store.tenant(tenant).submit(new_run(message={"content": "hello", "conversation": "mine"}))

    assert [run.id for run in store.tenant(tenant).runs(RunFilter(conversations=("mine",)))[0]] == [mine.id]
    assert [run.id for run in store.tenant(tenant).runs(RunFilter(conversations=("other",)))[0]] == [other.id]


def test_a_text_is_found_beside_it(store: Store, tenant: str, text: str) -> None:
    run, _ = store.tenant(tenant).submit(new_run(message={"content": f"needle {text}"}))

    assert [one.id for one in store.tenant(tenant).runs(RunFilter(text="needle"))[0]] == [run.id]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\0b\udc80c\ud800", "a\ufffdb\ufffdc\ufffd"),
        ("line\nend \x01 é", "line\nend \x01 é"),
        ("\\\0", "\\\ufffd"),
        ("C:\\users", "C:\\users"),
    ],
    ids=ascii,
)
@pytest.mark.postgres
def test_only_what_cannot_be_read_is_replaced(postgres_url: str, content: str, expected: str) -> None:
    database = Database(postgres_url)
    run, _ = Store(database).tenant(new_id("tenant")).submit(new_run(message={"content": content}))
    with database.read() as connection:
        statement = sa.select(parts_of(runs.c.message)["content"].as_string()).where(runs.c.id == run.id)
        found = connection.scalar(statement)
    database.close()

    assert found == expected
