"""A carried run is written from memory, and read again where another has changed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.either_database import database, postgres_url
from tests.support.noting import meanwhile, noting, up_to
from tests.support.served_parts import Desk

from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.transaction import part
from turnwise.record.transaction.frame_stack import FrameStack
from turnwise.record.values import known_run

__all__ = ["database", "postgres_url"]

_LAST = 12


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def desk(store: Store) -> Iterator[Desk]:
    meanwhile.clear()
    with Desk(store, noting(up_to(_LAST)), moves="worker", slice_seconds=60.0) as made:
        yield made


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The locks that were taken of runs, by how: at once, or after all, of a run that was known."""
    taken: list[str] = []
    at_once, after_all = part.RecordPart._lock_run, part.RecordPart._lock_again

    def lock_run(self: Any, run_id: str, **given: Any) -> AbstractContextManager[Any]:
        taken.append("at once")
        return at_once(self, run_id, **given)

    def lock_again(self: Any, *given: Any) -> Any:
        taken.append("after all")
        return after_all(self, *given)

    monkeypatch.setattr(part.RecordPart, "_lock_run", lock_run)
    monkeypatch.setattr(part.RecordPart, "_lock_again", lock_again)
    return taken


def _begin(desk: Desk) -> str:
    run_id = desk.submit("desk")
    assert desk.coordinator.move(run_id).ask is not None
    return run_id


def _llm(desk: Desk) -> str:
    return f"llm-{desk.own}"


def _story(store: Store, run_id: str) -> list[tuple[Any, ...]]:
    events = [row for row in store.inspector.table("events") if row["run_id"] == run_id]
    return [
        (row["seq"], row["type"], row["path"], row["turn"], row["changes"] is None)
        for row in sorted(events, key=lambda row: row["seq"])
    ]


def test_a_carried_turn_takes_no_lock_ahead_and_reads_nothing(desk: Desk, store: Store, locks: list[str]) -> None:
    run_id = _begin(desk)
    locks.clear()

    assert desk.responders.serve(_llm(desk))

    assert store.inspector.run(run_id).status == "completed"
    # The counts of the second reply; what others wait, twice; the end. All the other turns: none.
    assert locks.count("at once") == 0
    assert locks.count("after all") <= 6 < 2 * _LAST


def _touch(store: Store, run_id: str) -> None:
    """Change the run's row as a program does that knows of no revision, where such a one may be."""
    with store.database.begin() as connection:
        more = "" if store.database.is_postgres else ", revision = revision + 1"
        connection.execute(sa.text(f"UPDATE runs SET priority = 7{more} WHERE id = :id"), {"id": run_id})


def test_a_run_that_another_has_changed_is_read_again_and_its_move_made_again(
    desk: Desk, store: Store, locks: list[str]
) -> None:
    undisturbed = _begin(desk)
    assert desk.responders.serve(_llm(desk))
    run_id = _begin(desk)
    meanwhile[6] = lambda: _touch(store, run_id)
    locks.clear()

    assert desk.responders.serve(_llm(desk))

    run = store.inspector.run(run_id)
    assert (run.status, run.priority) == ("completed", 7)
    assert locks.count("at once") == 1
    assert _story(store, run_id) == _story(store, undisturbed)
    asks = [row for row in store.inspector.table("asks") if row["run_id"] == run_id]
    assert [ask["priority"] for ask in sorted(asks, key=lambda ask: ask["created_at"])][-1] == 7


def test_a_cancellation_is_seen_in_the_turn_after(desk: Desk, store: Store) -> None:
    run_id = _begin(desk)
    meanwhile[6] = lambda: store.tenant("default").request_cancel(run_id)

    assert desk.responders.serve(_llm(desk))

    run = store.inspector.run(run_id)
    assert (run.status, run.status_code) == ("cancelled", "KILL")
    asks = [row for row in store.inspector.table("asks") if row["run_id"] == run_id]
    assert len(asks) == 12  # the model's sixth call, and the sixth tool


def test_what_is_known_of_a_run_stays_small(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    kept: list[int] = []
    real = known_run.KnownRun.give_back

    def give_back(self: known_run.KnownRun, *given: Any) -> None:
        real(self, *given)
        kept.append(len(self.documents))

    monkeypatch.setattr(known_run, "_MOST_DOCUMENTS", 4)
    monkeypatch.setattr(known_run.KnownRun, "give_back", give_back)
    run_id = _begin(desk)

    assert desk.responders.serve(_llm(desk))

    assert store.inspector.run(run_id).status == "completed"
    assert max(kept) == 4
    assert locks.count("after all") <= 6, "a document that is still needed was forgotten"


def test_a_budget_keeps_what_is_known_up_to_date(desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = FrameStack._read

    def reads(self: Any) -> Any:
        if self._known.frames is None:
            read.append(self._known.run.id)
        return real(self)

    monkeypatch.setattr(FrameStack, "_read", reads)
    run_id = desk.submit("desk", max_tokens=100_000)
    assert desk.coordinator.move(run_id).ask is not None
    read.clear()

    assert desk.responders.serve(_llm(desk))

    run = store.inspector.run(run_id)
    assert run.status == "completed", run.error
    assert run.reserved_tokens == 0
    assert not read
