"""A claim that was made without the claimant's knowledge is found and given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, Task
from turnwise.base.waits import DatabaseWait
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database.database import Database
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.values.outcomes import Deferral
from turnwise.record.values.records import Claim
from turnwise.testing import MockLMConfig
from turnwise_responders.claimed_asks import Holdings

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
        me, holdings = worker(store), Holdings(store.worker)
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
        me, holdings = worker(store), Holdings(store.worker)
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


def test_there_is_nothing_to_clear_up_after_claims_that_went_well(store: DeafStore) -> None:
    with Desk(store, app) as served:
        served.coordinator.move(served.submit("desk"))
        me, holdings = worker(store), Holdings(store.worker)
        taken = store.worker.claim(f"llm-{served.own}", me)  # by somebody else under this name
        assert taken is not None
        holdings.clear_up(me)
        assert leased(store) == [taken.ask.id]


def leased(store: Store) -> list[str]:
    return [ask["id"] for ask in store.inspector.table("asks") if ask["status"] == "leased"]
