"""A worker that has answered carries the run on, and stops where it has to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until
from tests.support.either_database import database, postgres_url
from tests.support.noting import meanwhile, noting, to_three
from tests.support.served_parts import Desk

from turnwise import OpenAIGPTConfig
from turnwise.base.ids import new_id
from turnwise.base.waits import ProviderLimitWait
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import DatabaseUnavailableError, UnwritableError
from turnwise.processes.settings import load_settings
from turnwise.record.asks.replies import Replies
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import Claim, NewDocument
from turnwise.serving.moves.move import Mover
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.server import FakeLLMServer

__all__ = ["database", "postgres_url"]


def _asks_a_human(text: str) -> str:
    if text == "yes":
        return to_three("1 noted")
    return "__SEND__:User Shall I go on?" if text == "1 noted" else to_three(text)


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def desk(store: Store) -> Iterator[Desk]:
    meanwhile.clear()
    with Desk(store, noting(), moves="worker", slice_seconds=60.0) as made:
        yield made


def _begin(desk: Desk, **given: Any) -> str:
    run_id = desk.submit("desk", **given)
    assert desk.coordinator.move(run_id).ask is not None
    return run_id


def _llm(desk: Desk) -> str:
    return f"llm-{desk.own}"


def _asks(store: Store, run_id: str) -> list[dict[str, Any]]:
    return sorted((row for row in store.inspector.table("asks") if row["run_id"] == run_id), key=lambda row: row["id"])


def _open(store: Store, run_id: str) -> dict[str, Any]:
    (ask,) = [ask for ask in _asks(store, run_id) if ask["status"] not in ("answered", "cancelled")]
    return ask


def test_one_claim_and_one_wake_take_a_run_to_its_end(desk: Desk, store: Store) -> None:
    run_id = _begin(desk)

    assert desk.responders.serve(_llm(desk))

    run = store.inspector.run(run_id)
    assert run.status == "completed", run.error
    asks = _asks(store, run_id)
    assert len(asks) == 7
    assert len({ask["worker_id"] for ask in asks}) == 1
    assert all((ask["status"], ask["attempts"], ask["token"]) == ("answered", 1, 1) for ask in asks)
    assert desk.bus.waiting(_llm(desk)) == 1  # the permit of the first move, and no other
    assert desk.bus.waiting(f"agent-{desk.own}") == 0
    assert desk.responders.busy() == 0


@pytest.mark.parametrize("kind", ["queue", "task", "tenant"])
def test_a_pause_holds_the_next_ask(desk: Desk, store: Store, kind: Any) -> None:
    tenant = new_id("tenant")
    paused = {"queue": _llm(desk), "task": "desk", "tenant": tenant}[kind]
    meanwhile[1] = lambda: store.operator().pause(kind, paused)
    run_id = _begin(desk, tenant=tenant)  # one of its own: others share the database
    try:
        assert desk.responders.serve(_llm(desk))

        ask = _open(store, run_id)
        assert (ask["status"], ask["responder"], ask["worker_id"]) == ("runnable", "llm", None)
        assert not desk.responders.serve(_llm(desk))
    finally:
        store.operator().resume(kind, paused)
    assert desk.responders.serve(_llm(desk))
    assert store.inspector.run(run_id).status == "completed"


def test_a_worker_that_drains_leaves_the_next_ask_to_others(desk: Desk, store: Store) -> None:
    desk.responders._drain_seconds = 0.0
    meanwhile[1] = desk.responders.drain
    run_id = _begin(desk)

    desk.responders.serve(_llm(desk))

    assert _open(store, run_id)["status"] == "runnable"


def test_a_run_that_ends_before_a_reply_is_written_leaves_nothing_in_hand(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = _begin(desk)
    answer, asked = desk.responders._answering.answer, []

    def answer_and_end(claim: Claim, *given: Any, **more: Any) -> Any:
        outcome = answer(claim, *given, **more)
        asked.append(claim.ask.id)
        if len(asked) == 4:  # by then all of the run is known, so that nothing is read before the move is made
            store.tenant(DEFAULT_TENANT).request_cancel(run_id)
            desk.coordinator.move(run_id)
        return outcome

    monkeypatch.setattr(desk.responders._answering, "answer", answer_and_end)
    desk.responders.serve(_llm(desk))

    assert store.inspector.run(run_id).status == "cancelled"
    assert desk.responders.busy() == 0


def test_the_next_ask_is_released_if_an_error_follows_its_reply(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with Desk(store, noting(), moves="worker", slice_seconds=60.0, beat_seconds=0.05) as desk:
        run_id = _begin(desk)

        def fail(*_: object) -> None:
            monkeypatch.undo()
            raise RuntimeError("a fault")

        monkeypatch.setattr(desk.responders._answering, "accepted", fail)
        with pytest.raises(RuntimeError, match="a fault"):
            desk.responders.serve(_llm(desk))

        until(lambda: _open(store, run_id)["status"] == "runnable", "the next ask to be released")
        assert desk.responders.serve(f"agent-{desk.own}")
        assert store.inspector.run(run_id).status == "completed"


def test_a_server_that_is_stopped_carries_no_run_on(tmp_path: Path) -> None:
    under_way, url = threading.Event(), f"sqlite:///{tmp_path / 'runs.db'}"

    def never_done(text: str) -> str:
        n = int(text.split()[0]) if text.endswith("noted") else 0
        if n == 3:
            under_way.set()
        return f'{{"request": "note", "n": {n + 1}}}'

    settings = load_settings(database_url=url, bind="127.0.0.1:0")
    with EmbeddedServer(settings, noting(never_done)) as server, Client(server.url) as client:
        run_id = client.submit("desk", "hello").id
        assert under_way.wait(30)

    database = Database(url)
    assert Store(database).inspector.run(run_id).status == "running"
    database.close()


def test_a_queue_of_others_is_published_to(store: Store) -> None:
    with Desk(store, noting(), moves="worker") as desk:
        desk.responders._queues = frozenset({_llm(desk)})
        run_id = _begin(desk)

        assert desk.responders.serve(_llm(desk))

        ask = _open(store, run_id)
        assert (ask["status"], ask["queue"]) == ("runnable", f"agent-{desk.own}")
        assert desk.bus.waiting(f"agent-{desk.own}") == 1


def test_a_human_is_asked_and_no_thread_waits(store: Store) -> None:
    with Desk(store, noting(_asks_a_human), slice_seconds=60.0) as desk:
        run_id = _begin(desk)

        assert desk.responders.serve(_llm(desk))

        run, ask = store.inspector.run(run_id), _open(store, run_id)
        assert (run.status, ask["responder"], ask["worker_id"]) == ("waiting", "user", None)
        assert (desk.responders.busy(), desk.bus.waiting("coordinator")) == (0, 0)
        said = NewDocument(id=new_id("doc"), body={"content": "yes", "metadata": {"sender": "User"}})
        store.tenant(DEFAULT_TENANT).answer(run_id, said)
        assert desk.coordinator.move(run_id).ask is not None
        assert desk.responders.serve(_llm(desk))  # carried again, to its end
        assert store.inspector.run(run_id).status == "completed"


def test_a_provider_without_room_takes_the_ask_from_the_thread(store: Store) -> None:
    def reply(request: ChatRequest) -> Answer:
        return Answer(content=to_three(str(request.messages[-1]["content"])))

    with FakeLLMServer(reply) as server:
        limits: Any = {"requests_per_minute": 1, "limit_window": 600.0}
        llm = OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr(new_id("key")), **limits)
        with Desk(store, noting(llm=llm), slice_seconds=60.0) as desk:
            run_id = _begin(desk)

            assert desk.responders.serve(_llm(desk))

            run, ask = store.inspector.run(run_id), _open(store, run_id)
            assert isinstance(run.waiting_for, ProviderLimitWait)
            assert (ask["status"], ask["responder"], ask["worker_id"]) == ("runnable", "llm", None)
            assert len(_asks(store, run_id)) == 3  # it was carried up to there
            assert desk.responders.busy() == 0
            assert server.stats()["requests"] == 1


def test_a_run_of_a_pinned_version_is_carried_by_that_version_alone(store: Store) -> None:
    pinned: Any = {"version_policy": "pinned", "slice_seconds": 1e-9}
    with Desk(store, noting(), **pinned) as old, Desk(store, noting(version="2"), beside=old, **pinned) as new:
        run_id, other = _begin(old), _begin(old)

        assert not new.responders.serve(_llm(old))
        assert old.responders.serve(_llm(old))

        # Its slice is over: the ask is for whoever has the version.
        ask = next(ask for ask in _asks(store, run_id) if ask["status"] == "runnable")
        assert ask["responder"] == "agent"
        assert not new.responders.serve(ask["queue"])
        assert old.responders.serve(ask["queue"])
        assert store.inspector.run(other).status == "running"


def test_a_carried_ask_is_in_the_backlog_of_its_queue(desk: Desk, store: Store) -> None:
    seen: list[dict[str, tuple[int, int]]] = []

    def look() -> None:
        stats = store.inspector.queue_stats()
        seen.append({stat.queue: (stat.runnable, stat.leased) for stat in stats if stat.queue.endswith(desk.own)})

    meanwhile[1] = look
    _begin(desk)

    assert desk.responders.serve(_llm(desk))

    assert seen[0][f"agent-{desk.own}"] == (0, 1)  # which no worker has claimed from the queue
    assert seen[0].get(_llm(desk), (0, 0)) == (0, 0)


def test_a_slice_ends_while_others_wait_and_not_before(store: Store) -> None:
    with Desk(store, noting(), moves="worker", slice_seconds=1e-9) as desk:
        alone = _begin(desk)
        assert desk.responders.serve(_llm(desk))
        assert store.inspector.run(alone).status == "completed"

        first, second = _begin(desk), _begin(desk)
        assert desk.responders.serve(_llm(desk))  # the tool's queue is empty, the model's is not
        assert [_open(store, run)["responder"] for run in (first, second)] == ["agent", "llm"]
        assert [_open(store, run)["status"] for run in (first, second)] == ["runnable", "runnable"]
        assert desk.bus.waiting(f"agent-{desk.own}") == 1


def test_a_worker_that_was_declared_dead_holds_nothing_more(desk: Desk, store: Store) -> None:
    def die() -> None:
        worker = desk.responders._incarnation.current()
        assert worker is not None
        store.process.retire_worker(worker, "dead")

    meanwhile[1] = die
    run_id = _begin(desk)

    desk.responders.serve(_llm(desk))

    assert all(ask["status"] != "leased" or ask["responder"] == "agent" for ask in _asks(store, run_id))


def test_what_is_carried_counts_for_the_share_of_its_tenant(store: Store) -> None:
    with Desk(store, noting(), moves="worker", slice_seconds=60.0) as desk:
        one = new_id("tenant")
        run_id = _begin(desk, tenant=one)
        _begin(desk, tenant=new_id("tenant"))

        assert desk.responders.serve(_llm(desk))

        assert store.inspector.run(run_id).status == "completed"
        (share,) = [row for row in store.inspector.table("tenant_shares") if row["queue"] == _llm(desk)]
        assert (share["tenant"], share["ends"]) == (one, 4)  # its model was asked four times


def test_a_commit_whose_answer_is_lost_leaves_no_ask_that_no_one_works_on(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = Replies.reply, [True]

    def reply(self: Any, *given: Any) -> bool:
        accepted = real(self, *given)
        if lost:
            lost.clear()
            raise DatabaseUnavailableError("the answer to the commit was lost")
        return accepted

    monkeypatch.setattr(Replies, "reply", reply)
    run_id = _begin(desk)

    assert desk.responders.serve(_llm(desk))

    worker = desk.responders._incarnation.current()
    held = _open(store, run_id)
    assert (held["status"], held["worker_id"]) == ("leased", worker)  # on record, but not known here
    assert worker is not None
    assert not desk.responders.serve(f"agent-{desk.own}")
    desk.responders._holdings.clear_up(worker)
    assert _open(store, run_id)["status"] == "runnable"
    assert desk.responders.serve(f"agent-{desk.own}")
    assert store.inspector.run(run_id).status == "completed"


def test_a_move_that_cannot_be_kept_is_left_to_a_coordinator(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Mover.move

    def move(self: Mover, tx: RunTransaction, carrier: Any = None) -> Any:
        if carrier is not None:
            raise UnwritableError("no database takes this move")
        return real(self, tx)

    monkeypatch.setattr(Mover, "move", move)
    run_id = _begin(desk)

    assert desk.responders.serve(_llm(desk))

    assert "left to a coordinator" in caplog.text
    assert [ask["status"] for ask in _asks(store, run_id)] == ["answered"]
    assert store.inspector.run(run_id).move_due_at is not None
    assert desk.bus.waiting("coordinator") == 1
    assert desk.coordinator.move(run_id).ask is not None
