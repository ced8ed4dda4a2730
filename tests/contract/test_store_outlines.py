"""The outlines of a tenant's runs, on each database: what became of them, and nothing that anyone wrote."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.support.store_parts import asked_run, new_queue, new_run

from turnwise.base.ids import new_id
from turnwise.base.waits import BudgetWait
from turnwise.errors import NotFoundError
from turnwise.record.runs.outlines import OutlineFilter
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.reach import EVERY_TENANT, OneTenant
from turnwise.record.values.kept_errors import kept_error
from turnwise.record.values.records import Usage

SECRET = "what nobody else may read"
ANY = OutlineFilter()


def test_an_outline_has_status_costs_and_kinds_and_no_word_of_anyone(store: Store) -> None:
    tenant = new_id("tenant")
    given = {"message": {"content": SECRET}, "metadata": {"about": SECRET}, "tags": (SECRET,), "session_id": "secret"}
    failed = asked_run(store, new_queue(), run={"tenant": tenant, "max_cost": Decimal("0.5"), **given})
    with store.coordinator.locked(failed.id) as transaction:
        transaction.add_usage(Usage(prompt_tokens=7, cost=Decimal("0.25"), model="m"))
        error = kept_error({"type": "ModelError", "kind": "unavailable", "code": "x", "message": SECRET})
        transaction.finish(RunStatus.FAILED, "ERROR", {"content": SECRET}, error)
    waiting = asked_run(store, new_queue(), run={"tenant": tenant, **given})
    with store.coordinator.locked(waiting.id) as transaction:
        transaction.change(status=RunStatus.WAITING, waiting_for=BudgetWait(scope="run", limit="cost"))

    newest, oldest = store.administrator(OneTenant(tenant)).outlines(tenant, ANY)

    assert (newest.id, newest.status, newest.waits_for, newest.error_kind) == (waiting.id, "waiting", "budget", None)
    assert (oldest.id, oldest.status, oldest.status_code) == (failed.id, "failed", "ERROR")
    assert (oldest.error_kind, oldest.error_code, oldest.max_cost) == ("unavailable", "x", Decimal("0.5"))
    assert (oldest.cost, oldest.prompt_tokens, oldest.calls) == (Decimal("0.25"), 7, 1)
    assert SECRET not in repr([newest, oldest]) and "secret" not in repr([newest, oldest])


def test_outlines_are_filtered_and_come_page_by_page(store: Store) -> None:
    tenant = new_id("tenant")
    role, all_of_them = store.tenant(tenant), store.operator()
    runs = [role.submit(new_run(task="audit" if n == 1 else "triage"))[0] for n in range(3)]
    first, second, third = (run.id for run in runs)

    def ids(filters: OutlineFilter = ANY, before: str | None = None, limit: int = 50) -> list[str]:
        return [one.id for one in all_of_them.outlines(tenant, filters, before, limit)]

    assert ids() == [third, second, first]
    assert ids(limit=2) + ids(before=second) == [third, second, first]
    assert ids(OutlineFilter(task="audit", status="queued")) == [second]
    assert ids(OutlineFilter(status="failed")) == []
    assert ids(OutlineFilter(created_after=runs[2].created_at)) == []
    assert ids(OutlineFilter(created_before=runs[2].created_at)) == [third, second, first]


def test_the_tenant_is_one_that_the_caller_administers(store: Store) -> None:
    tenant = new_id("tenant")
    store.tenant(tenant).submit(new_run())

    assert len(store.administrator(EVERY_TENANT).outlines(tenant, ANY)) == 1
    assert store.operator().outlines(new_id("tenant"), ANY) == []
    with pytest.raises(NotFoundError, match="that you administer"):
        store.administrator(OneTenant("other")).outlines(tenant, ANY)
