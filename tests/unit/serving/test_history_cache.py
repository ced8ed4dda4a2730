"""The histories that a process remembers, and those that it forgets where there is no room for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.store_parts import begun_run

from turnwise.base.ids import new_id
from turnwise.record.database.database import Database
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.transaction.core import Core
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AgentRecord, HistoryRow, NewHistory, RunRecord
from turnwise.serving.attempts.history_cache import HistoryCache

Begun = tuple[RunRecord, AgentRecord]


class CountingWorker(WorkerRole):
    """Knows whose histories were read."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.read: list[str] = []
        # Called once, while a history is read.
        self.meanwhile: Callable[[], object] | None = None

    def history(self, owner: str, *args: Any, **more: Any) -> list[HistoryRow]:
        self.read.append(owner)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().history(owner, *args, **more)


class CountedStore(Store):
    """Its workers are counted."""

    worker: CountingWorker

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.worker = CountingWorker(self.core)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CountedStore]:
    database = fresh_sqlite(tmp_path / "turnwise.db")
    yield CountedStore(database)
    database.close()


def begun(store: Store, messages: int) -> Begun:
    """A run whose agent has so many messages."""
    return continued(store, begun_run(store, new_id("session")).id, range(messages))


def continued(store: Store, run_id: str, messages: range) -> Begun:
    """The run whose agent has these messages more."""
    with store.coordinator.locked(run_id) as transaction:
        transaction.append_history("triage", rows(messages))
    with store.coordinator.locked(run_id) as transaction:
        return transaction.run, transaction.agent("triage")


def rows(messages: range) -> list[NewHistory]:
    return [NewHistory(role="user", body={"role": "user", "content": str(n)}) for n in messages]


def texts(cache: HistoryCache, begun: Begun) -> list[str]:
    return [message.content for message in cache.load(*begun)]


def test_what_was_used_longest_ago_is_forgotten_where_messages_are_too_many(store: CountedStore) -> None:
    cache = HistoryCache(store.worker, most_messages=7)
    used, old, new = (begun(store, 3) for _ in range(3))
    for one in (used, old, used, new, used, new, old):
        assert [message.content for message in cache.load(*one)] == ["0", "1", "2"]

    assert store.worker.read == [run.id for run, _ in (used, old, new, old)]


def test_the_one_that_is_used_is_remembered_even_if_it_is_too_long_by_itself(store: CountedStore) -> None:
    cache = HistoryCache(store.worker, most_messages=7)
    long, short = begun(store, 9), begun(store, 1)
    for one in (short, long, long, short):
        cache.load(*one)

    assert store.worker.read == [run.id for run, _ in (short, long, short)]


def test_sixteen_histories_are_remembered_for_each_call_at_once(store: CountedStore) -> None:
    cache = HistoryCache(store.worker, at_once=1)
    histories = [begun(store, 1) for _ in range(17)]
    for one in (*histories, *histories[1:], histories[0]):
        cache.load(*one)

    assert store.worker.read == [run.id for run, _ in (*histories, histories[0])]


def test_a_history_that_was_loaded_is_the_callers_own(store: CountedStore) -> None:
    cache, short = HistoryCache(store.worker), begun(store, 3)
    first = cache.load(*short)
    first.pop()
    cache.accepted(*short, Reply(kind="answer", history=tuple(rows(range(3, 4)))))
    long = continued(store, short[0].id, range(3, 4))

    assert len(first) == 2
    assert texts(cache, long) == ["0", "1", "2", "3"]
    assert texts(cache, short) == ["0", "1", "2"]
    assert store.worker.read == [short[0].id]


def test_two_that_read_the_same_rest_at_once_remember_it_once(store: CountedStore) -> None:
    cache, short = HistoryCache(store.worker), begun(store, 3)
    cache.load(*short)
    long = continued(store, short[0].id, range(3, 5))
    store.worker.meanwhile = lambda: cache.load(*long)

    assert texts(cache, long) == ["0", "1", "2", "3", "4"]
    assert texts(cache, long) == ["0", "1", "2", "3", "4"]
