"""A living worker that can write neither an answer nor the error in its place: its attempt is that of a lost worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.record.database.database import Database
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Reply, Resolution
from turnwise.record.values.records import AskRecord, Claim
from turnwise.serving.attempts.served_calls import as_result
from turnwise.serving.moves.permits import permit


class Refusing(WorkerRole):
    """Takes no replies to asks of the `refused` responders."""

    refused: frozenset[str] = frozenset()

    def reply(self, claim: Claim, reply: Reply, then: Callable[[RunTransaction], None] | None = None) -> bool:
        if claim.ask.responder in self.refused:
            raise RuntimeError("no reply is taken")
        return super().reply(claim, reply, then)


class RefusingStore(Store):
    """Its workers may be refused."""

    worker: Refusing

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.worker = Refusing(self.core)


class Job(ToolMessage):
    request: str = "job"
    purpose: str = "To do the job <amount>."
    amount: int


class Pay(Job):
    request: str = "pay"
    _effect = "once"


class Ship(Job):
    request: str = "ship"
    _effect = "once"


class Look(Job):
    request: str = "look"
    _effect = "read_only"


class World:
    """The outside world, which is no part of an agent's state."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls


class Clerk(ChatAgent):
    """Writes down each call of a handler."""

    world: World

    def pay(self, tool: Pay) -> str:
        self.world.calls.append(f"pay {tool.amount}")
        return "paid"

    async def ship_async(self, tool: Ship) -> str:
        self.world.calls.append(f"ship {tool.amount}")
        return "shipped"

    def look(self, tool: Look) -> str:
        self.world.calls.append(f"look {tool.amount}")
        return "seen"


def _app(calls: list[str], *asked: str) -> App:
    app = App("shop", version="1")
    wanted = " ".join(f'{{"request": "{name}", "amount": {no}}}' for no, name in enumerate(asked, 1))

    def say(text: str) -> str:
        calls.append("model")
        return wanted if text == "hello" and asked else f"DONE {text}"

    @app.task
    def shop() -> Task:
        clerk = Clerk(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=say)))
        clerk.world = World(calls)
        clerk.enable_message([Pay, Ship, Look])
        return Task(clerk, interactive=False)

    return app


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RefusingStore]:
    database = fresh_sqlite(tmp_path / "record.db")
    yield RefusingStore(database)
    database.close()


@pytest.fixture(params=["coordinator", "worker"])
def moves(request: pytest.FixtureRequest) -> str:
    """The processes that make the moves; a worker carries runs on."""
    return str(request.param)


def _open(store: Store, run_id: str) -> AskRecord | None:
    with store.coordinator.locked(run_id) as transaction:
        return transaction.open_ask()


def _attempt(desk: Desk, run_id: str) -> bool:
    """Move and answer until an answer is refused, and clear up as the next beat does; False once nothing is asked."""
    desk.coordinator.move(run_id)
    while (ask := _open(desk.store, run_id)) is not None and ask.status == "runnable":
        try:
            desk.responders.answer(permit(ask))
        except RuntimeError:
            me = desk.responders._incarnation.current()
            assert me is not None and desk.responders.busy() == 0
            desk.responders._holdings.clear_up(me)
            return True
        desk.coordinator.move(run_id)
    return False


def _attempts(desk: Desk, run_id: str) -> int:
    for attempts in range(20):
        if not _attempt(desk, run_id):
            return attempts
    raise AssertionError("it is tried again without end")


@pytest.mark.parametrize("tool", ["pay", "ship"])
def test_a_handler_that_may_not_be_called_twice_is_called_once_and_parked(
    store: RefusingStore, moves: str, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    with Desk(store, _app(calls, tool), moves=moves) as desk:
        run_id = desk.submit("shop")
        store.worker.refused = frozenset(["agent"])

        assert _attempts(desk, run_id) == 1

        assert calls == ["model", f"{tool} 1"]
        assert kept(store.inspector.run(run_id).waiting_for)["kind"] == "parked"
        [ask] = store.tenant(DEFAULT_TENANT).parked_asks()
        assert (kept(ask.parked)["reason"], kept(ask.parked)["tool"]) == ("unknown_outcome", tool)
        assert ask.attempts == 2  # the second one found that the first may have made the call
        assert "could not be written" in caplog.text
        assert "whose answer got lost" not in caplog.text
        (expired,) = [event for event in store.inspector.events(run_id) if event.type == "ask.expired"]
        assert (expired.data or {})["unwritten"] is True

        store.worker.refused = frozenset()
        happened = Resolution(outcome="happened", result=as_result("paid by hand"))
        store.tenant(DEFAULT_TENANT).resolve(run_id, ask.id, happened)
        assert _attempts(desk, run_id) == 0
        assert store.inspector.run(run_id).status == "completed"
        assert calls == ["model", f"{tool} 1", "model"]


@pytest.mark.parametrize(("asked", "refused", "call"), [((), "llm", "model"), (("look",), "agent", "look 1")])
def test_what_may_be_called_again_is_called_as_often_as_an_ask_has_attempts(
    store: RefusingStore, moves: str, asked: tuple[str, ...], refused: str, call: str
) -> None:
    calls: list[str] = []
    with Desk(store, _app(calls, *asked), moves=moves, max_attempts=3) as desk:
        run_id = desk.submit("shop")
        store.worker.refused = frozenset([refused])

        assert _attempts(desk, run_id) == 3

        assert calls.count(call) == 3
        [ask] = store.tenant(DEFAULT_TENANT).parked_asks()
        assert (ask.attempts, kept(ask.parked)["reason"]) == (3, "attempts_exhausted")


def test_a_result_that_was_kept_is_not_made_again(store: RefusingStore, moves: str) -> None:
    calls: list[str] = []
    with Desk(store, _app(calls, "pay", "ship", "look"), moves=moves) as desk:
        run_id = desk.submit("shop")
        store.worker.refused = frozenset(["agent"])

        # Before the last call, which may be made again, both others are kept.
        assert _attempts(desk, run_id) == 5

        assert (calls.count("pay 1"), calls.count("ship 2"), calls.count("look 3")) == (1, 1, 5)
        store.worker.refused = frozenset()
        [ask] = store.tenant(DEFAULT_TENANT).parked_asks()
        store.tenant(DEFAULT_TENANT).resolve(run_id, ask.id, Resolution(outcome="again"))
        assert _attempts(desk, run_id) == 0
        assert store.inspector.run(run_id).status == "completed"
        assert (calls.count("pay 1"), calls.count("ship 2"), calls.count("look 3")) == (1, 1, 6)


def test_an_ask_that_was_carried_over_and_not_begun_counts_as_never_claimed(
    store: RefusingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    with Desk(store, _app(calls, "pay"), moves="worker") as desk:
        real, failed = desk.responders._answering.accepted, [True]

        def accepted(*given: Any) -> None:
            if failed:
                failed.clear()
                raise RuntimeError("after the commit that took the next ask as well")
            real(*given)

        monkeypatch.setattr(desk.responders._answering, "accepted", accepted)
        run_id = desk.submit("shop")

        assert _attempt(desk, run_id)

        ask = _open(store, run_id)
        assert ask is not None
        assert (ask.responder, ask.status, ask.attempts) == ("agent", "runnable", 0)
        assert _attempts(desk, run_id) == 0
        assert calls == ["model", "pay 1", "model"]
        assert store.inspector.run(run_id).status == "completed"
