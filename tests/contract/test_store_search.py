"""The search for runs by ids and by the text of messages, on each database."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.store_parts import asked_run, new_queue, new_run

from turnwise.base.clock import SystemClock
from turnwise.base.ids import new_id
from turnwise.record.database.database import Database
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs import text_search
from turnwise.record.runs.text_search import MOST_SECONDS
from turnwise.record.store import Store
from turnwise.record.values.records import RunFilter, RunRecord


@pytest.fixture
def mine(store: Store) -> TenantRole:
    """A tenant of the test's own, because tests share the PostgreSQL database."""
    return store.tenant(new_id("tenant"))


def found(role: TenantRole, text: str, limit: int = 50, **filters: Any) -> list[str]:
    """The ids of all that a search finds, its pages one after the other."""
    ids: list[str] = []
    page, cursor = role.runs(RunFilter(text=text, **filters), None, limit)
    ids += [run.id for run in page]
    while cursor is not None:
        page, cursor = role.runs(RunFilter(text=text, **filters), cursor, limit)
        ids += [run.id for run in page]
    return ids


def submitted(role: TenantRole, content: str, **changes: Any) -> RunRecord:
    run, _ = role.submit(new_run(message={"content": content}, **changes))
    return run


def with_document(store: Store, role: TenantRole, body: dict[str, Any]) -> RunRecord:
    """A run that has made that document."""
    run = submitted(role, "hello")
    with store.coordinator.locked(run.id) as transaction:
        transaction.put_document("doc-9", body)
    return run


@pytest.mark.parametrize("text", ["charged twice", "CHARGED", "100 %", 'a "quoted', "back\\slash", "Straße", "a_b"])
def test_a_text_is_found_in_what_was_submitted_whatever_its_case(mine: TenantRole, text: str) -> None:
    run = submitted(mine, 'I was Charged Twice: 100 % of a "quoted" price, back\\slash in the Straße a_b.')
    submitted(mine, "another 100 apples, axb")

    assert found(mine, text) == [run.id]


def test_a_text_is_found_in_answers_and_in_calls_of_tools(store: Store, mine: TenantRole) -> None:
    said = with_document(store, mine, {"content": "The refund was made.", "metadata": {"sender": "LLM"}})
    called = with_document(store, mine, {"tool_messages": [{"name": "refund", "fields": {"note": 'says "no"'}}]})
    result = with_document(store, mine, {"oai_tool_id2result": {"call-1": "Invoice 4711"}})

    assert found(mine, "refund") == [called.id, said.id]
    assert found(mine, 'says "no"') == [called.id]
    assert found(mine, "invoice 4711") == [result.id]
    assert found(mine, "metadata") == found(mine, "LLM") == []


def test_a_text_with_a_nul_is_looked_through(store: Store, mine: TenantRole) -> None:
    hostile = with_document(store, mine, {"content": "before \0 after"})

    assert found(mine, "after") == [hostile.id]


def test_an_id_is_found_by_its_beginning_and_within(store: Store, mine: TenantRole) -> None:
    run, other = submitted(mine, "one", session_id="Customer-17"), submitted(mine, "two")

    assert found(mine, run.id) == [run.id]
    assert found(mine, run.id[:6], limit=1) == [other.id, run.id]
    assert found(mine, run.id[8:]) == [run.id]
    assert found(mine, "customer-17") == [run.id]
    assert found(mine, "run_zz") == found(store.tenant(new_id("tenant")), run.id) == []


def test_a_search_keeps_to_the_other_filters_and_to_the_tenant(store: Store, mine: TenantRole) -> None:
    run = submitted(mine, "where is it?", tags=("vip",))
    submitted(mine, "where is it?")
    asked_run(store, new_queue(), run={"message": {"content": "where is it?"}})

    assert found(mine, "where is it", tag="vip") == [run.id]
    assert found(mine, "where is it", task="other") == []


def test_pages_of_a_search_follow_each_other(mine: TenantRole) -> None:
    runs = [submitted(mine, "same", session_id=None) for _ in range(5)]

    page, cursor = mine.runs(RunFilter(text="same"), None, 2)
    assert ([run.id for run in page], cursor is None) == ([runs[4].id, runs[3].id], False)
    assert found(mine, "same", limit=2) == [run.id for run in reversed(runs)]


class _SlowClock(SystemClock):
    """A clock by which every look takes longer than a search may."""

    def __init__(self) -> None:
        self._looks = 0

    def monotonic(self) -> float:
        self._looks += 1
        return self._looks * 2 * MOST_SECONDS


def test_a_search_that_takes_long_ends_its_page_and_is_continued(database: Database) -> None:
    slow = Store(database, clock=_SlowClock()).tenant(new_id("tenant"))
    wanted, _ = slow.submit(new_run(message={"content": "the needle"}))
    slow.submit_all([new_run() for _ in range(60)])

    page, cursor = slow.runs(RunFilter(text="needle"))

    assert page == []
    assert cursor is not None
    assert found(slow, "needle") == [wanted.id]


def test_a_search_looks_through_a_bounded_number_of_runs_at_once(
    store: Store, mine: TenantRole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "MOST_RUNS", 45)
    wanted = submitted(mine, "the needle")
    mine.submit_all([new_run() for _ in range(50)])

    page, cursor = mine.runs(RunFilter(text="needle"))

    assert (page, cursor is None) == ([], False)
    assert found(mine, "needle") == [wanted.id]
    assert len(found(mine, "hello", limit=7)) == 50
