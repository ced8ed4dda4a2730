"""Served runs whose database does not answer for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.either_database import database, postgres_url
from tests.support.served_parts import Desk
from tests.support.talking import app_of, talk

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import DatabaseUnavailableError
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Claim, HistoryRow
from turnwise.serving.attempts.answering import Answering
from turnwise.serving.attempts.attempt import Attempt

__all__ = ["database", "postgres_url"]


class FlakyWorker(WorkerRole):
    """A record that does not answer the next `failures` calls of reply, and of reading histories."""

    failures = 0
    history_failures = 0

    def reply(self, claim: Claim, reply: Reply, then: Callable[[RunTransaction], None] | None = None) -> bool:
        if self.failures:
            self.failures -= 1
            raise DatabaseUnavailableError("the database is away")
        return super().reply(claim, reply, then)

    def history(self, owner: str, key: str, **which: int | None) -> list[HistoryRow]:
        if self.history_failures:
            self.history_failures -= 1
            raise DatabaseUnavailableError("the database is away")
        return super().history(owner, key, **which)  # type: ignore[arg-type]


class FlakyStore(Store):
    """Its workers do not always get an answer."""

    worker: FlakyWorker

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.worker = FlakyWorker(self.core)


def test_an_answer_is_written_once_the_database_is_back(database: Database) -> None:
    store = FlakyStore(database)
    with Desk(store, app_of(talk), moves="coordinator") as desk:
        run = desk.submit("desk")
        asked = desk.coordinator.move(run)
        store.worker.failures = 2

        assert desk.answer(asked)

        assert desk.go_on(run).status == "completed"
        assert desk.events(run)[-1] == "run.completed"


def test_an_answer_that_cannot_be_written_in_the_time_of_a_drain_is_left_to_be_taken_over(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    store = FlakyStore(database)
    with Desk(store, app_of(talk), moves="coordinator", drain_seconds=0.5, beat_seconds=0.1) as desk:
        run = desk.submit("desk")
        asked = desk.coordinator.move(run)
        store.worker.failures = 1_000
        with ThreadPoolExecutor(1) as pool:
            answering = pool.submit(desk.answer, asked)
            until(lambda: store.worker.failures < 1_000, "the answer to be kept waiting")
            desk.responders.drain()
            try:
                assert answering.result(timeout=10)
            finally:
                store.worker.failures = 0

        told = [getattr(line, "action", None) for line in caplog.records]
        assert (told.count("drain_cut"), told.count("write_given_up")) == (1, 1)
        # This process still lives, and the database is back: no lease has to run out.
        until(lambda: "ask.expired" in desk.events(run), "the ask to be taken over", every=0.01)
        with Desk(store, desk.app, beside=desk, moves="coordinator") as other:
            assert other.answer(asked)
            assert other.go_on(run).status == "completed"


def test_an_embedded_server_ends_though_an_answer_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept_waiting = threading.Event()

    def away(*_: object) -> bool:
        kept_waiting.set()
        raise DatabaseUnavailableError("the database is away")

    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0", drain_seconds=0.5)
    with monkeypatch.context() as patch:
        patch.setattr(WorkerRole, "reply", away)
        server = EmbeddedServer(settings, app_of(talk))
        server.start()
        with Client(server.url) as client:
            run = str(client.submit("desk", "hello").id)
            assert kept_waiting.wait(20)
        stopping = threading.Thread(target=server.stop, daemon=True)
        stopping.start()
        stopping.join(timeout=20)
        assert not stopping.is_alive()
    assert "drain_cut" in [getattr(line, "action", None) for line in caplog.records]

    with EmbeddedServer(settings, app_of(talk)) as server, Client(server.url) as client:
        status_once(client, run, "completed")


def test_a_history_that_can_not_be_read_ends_no_run(database: Database) -> None:
    store = FlakyStore(database)
    with Desk(store, app_of(talk), moves="coordinator") as desk:
        run = desk.submit("desk")
        while (asked := desk.coordinator.move(run)).ask is not None:
            if asked.ask.responder == "llm" and asked.ask.turn > 0:
                break
            desk.answer(asked)
        store.worker.history_failures = 1

        with Desk(store, desk.app, beside=desk, moves="coordinator") as other:  # which remembers no history
            assert asked.ask is not None
            assert other.responders.answer(asked.ask)
            assert desk.events(run)[-1] == "ask.released"
            until(lambda: other.answer(asked), "the pause to be over", every=0.01)

        assert desk.go_on(run).status == "completed"


@pytest.mark.parametrize("place", ["before its agent is made", "in its call"])
def test_an_ask_that_cannot_be_read_is_claimed_again_after_pauses_that_grow(
    database: Database, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> Any:
        raise DatabaseUnavailableError("the database is away")

    with Desk(Store(database), app_of(talk), moves="coordinator") as desk:
        run = desk.submit("desk")
        while (asked := desk.coordinator.move(run)).ask is not None and asked.ask.responder != "llm":
            desk.answer(asked)
        whose, method = (Answering, "_served") if place == "before its agent is made" else (Attempt, "_reply")
        monkeypatch.setattr(whose, method, away)
        pauses: list[float] = []
        for _ in range(4):
            until(lambda: desk.answer(asked), "the pause to be over", every=0.01)
            *_, last = desk.store.inspector.events(run)
            (ask,) = (row for row in desk.store.inspector.table("asks") if row["id"] == last.ask_id)
            assert (last.type, last.data["reason"] if last.data else None) == ("ask.released", "database_away")
            assert ask["attempts"] == 0
            pauses.append((ask["due_at"] or last.at) - last.at)
            assert pauses[-1] < 2 or not desk.answer(asked)
        assert pauses == pytest.approx([0.0, 0.5, 1.0, 2.0], abs=0.1)

        monkeypatch.undo()
        until(lambda: desk.answer(asked), "the pause to be over", every=0.01)
        assert desk.go_on(run).status == "completed"
