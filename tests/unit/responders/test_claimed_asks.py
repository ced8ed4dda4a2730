"""A claim that was made without the claimant's knowledge is found and given back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, Task
from turnwise.base.waits import DatabaseWait
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.asks import claims
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.database import Database
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Deferral
from turnwise.record.values.records import AskRecord, Claim
from turnwise.testing import MockLMConfig
from turnwise_responders.claimed_asks import ClaimedAsks

app = App("desk", version="1")


@app.task
def desk() -> Task:
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig())), interactive=False)


class Deaf(WorkerRole):
    """Makes claims, and does not hear that they were made while `deaf`."""

    deaf = False

    def claim(self, queue: str, worker_id: str, version: str | None = None) -> Claim | None:
        made = super().claim(queue, worker_id, version)
        if self.deaf:
            raise DatabaseUnavailableError("the answer was lost")
        return made


class DeafStore(Store):
    """Its workers may be deaf."""

    worker: Deaf

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.worker = Deaf(self.core)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeafStore]:
    database = fresh_sqlite(tmp_path / "record.db")
    yield DeafStore(database)
    database.close()


def worker(store: Store) -> str:
    return store.process.register_worker(WorkerInfo(kind="responders", queues=(), host="h", pid=1, version="1"))


def test_what_was_claimed_unawares_can_be_claimed_again(store: DeafStore) -> None:
    with Desk(store, app) as served:
        for _ in range(2):
            served.coordinator.move(served.submit("desk"))
        me, holdings = worker(store), ClaimedAsks(store.worker)
        with holdings.claim(f"llm-{served.own}", me) as held:
            assert held is not None
            store.worker.deaf = True
            with pytest.raises(DatabaseUnavailableError), holdings.claim(f"llm-{served.own}", me):
                pass
            store.worker.deaf = False
            # Nothing is claimed before it is known what is held.
            with holdings.claim(f"llm-{served.own}", me) as nothing:
                assert nothing is None
            holdings.clear_up(me)
            assert leased(store) == [held.ask.id]  # what it knows of it keeps
            with holdings.claim(f"llm-{served.own}", me) as again:
                assert again is not None
                assert again.ask.attempts == 1  # as if it had never been claimed


def test_an_ask_that_another_thread_has_claimed_again_meanwhile_is_known(store: DeafStore) -> None:
    with Desk(store, app) as served:
        served.coordinator.move(served.submit("desk"))
        me, holdings = worker(store), ClaimedAsks(store.worker)
        queue = f"llm-{served.own}"
        with ExitStack() as second:
            with holdings.claim(queue, me) as first:
                assert first is not None
                store.worker.defer(first, Deferral(seconds=0.0, waiting_for=DatabaseWait()))
                again = second.enter_context(holdings.claim(queue, me))
                assert again is not None
                assert again.ask.id == first.ask.id
            # The first thread is through with it, the second is not.
            assert holdings.count() == 1
            store.worker.deaf = True
            with pytest.raises(DatabaseUnavailableError), holdings.claim(queue, me):
                pass
            holdings.clear_up(me)
            assert leased(store) == [again.ask.id]
        assert holdings.count() == 0


@pytest.mark.parametrize("unknown", [False, True], ids=["unwritten", "unknown"])
def test_an_ask_that_cannot_be_cleared_up_keeps_nothing_else_from_being_claimed(
    store: DeafStore, unknown: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "_release" if unknown else "take_over"
    clear = getattr(claims, name)
    stuck: set[str] = set()

    def failing(transaction: RunTransaction, ask: AskRecord, *given: Any, **options: Any) -> object:
        if ask.id in stuck:
            raise ValueError("its rows cannot be read")
        return clear(transaction, ask, *given, **options)

    monkeypatch.setattr(claims, name, failing)
    with Desk(store, app) as served:
        for _ in range(3):
            served.coordinator.move(served.submit("desk"))
        me, holdings, queue = worker(store), ClaimedAsks(store.worker), f"llm-{served.own}"
        if unknown:
            assert store.worker.claim(queue, me) is not None
            store.worker.deaf = True
            with pytest.raises(DatabaseUnavailableError), holdings.claim(queue, me):
                pass
            store.worker.deaf = False
        else:
            with holdings.claim(queue, me) as one, holdings.claim(queue, me) as other:
                assert one is not None and other is not None
            holdings.doubt(one)
            holdings.doubt(other)
        first, _ = leased(store)
        stuck.add(first)

        holdings.clear_up(me)

        assert leased(store) == [first]  # the other can be claimed again
        assert [getattr(line, "action", "") for line in caplog.records if line.levelno >= logging.ERROR] == [
            "ask_stuck"
        ]
        with holdings.claim(queue, me) as found:
            assert found is not None
            stuck.clear()
            holdings.clear_up(me)
            assert leased(store) == [found.ask.id]
            holdings.clear_up(me)
            assert leased(store) == [found.ask.id]


def test_there_is_nothing_to_clear_up_after_claims_that_went_well(store: DeafStore) -> None:
    with Desk(store, app) as served:
        served.coordinator.move(served.submit("desk"))
        me, holdings = worker(store), ClaimedAsks(store.worker)
        taken = store.worker.claim(f"llm-{served.own}", me)  # by somebody else under this name
        assert taken is not None
        holdings.clear_up(me)
        assert leased(store) == [taken.ask.id]


def leased(store: Store) -> list[str]:
    return [ask["id"] for ask in store.inspector.table("asks") if ask["status"] == "leased"]
