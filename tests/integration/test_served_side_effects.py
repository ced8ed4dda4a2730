"""Served runs with handlers whose worker was lost in the middle of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    MockLMConfig,
    RetryPolicy,
    Task,
    ToolMessage,
    cancelled,
    check_cancelled,
)
from turnwise.base.background_loop import run_in_background
from turnwise.base.process_end import ProcessKilled
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Resolution
from turnwise.record.values.records import AskRecord, RunRecord
from turnwise.serving.attempts.served_calls import as_result
from turnwise.serving.moves.permits import permit


class Killed(ProcessKilled):
    """The process is gone: nothing of its code runs any more."""


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay <amount>."
    amount: int


class Book(Pay):
    request: str = "book"
    _effect = "idempotent"


class Look(Pay):
    request: str = "look"
    _effect = "read_only"


class Clerk(ChatAgent):
    """Writes down each call of a handler; `world.kill` says before or after which one it is killed."""

    class State(BaseModel):
        seen: list[str] = []

    world: World

    def pay(self, tool: Pay, idempotency_key: str) -> str:
        return self._called(tool, idempotency_key)

    def book(self, tool: Book, idempotency_key: str) -> str:
        return self._called(tool, idempotency_key)

    def look(self, tool: Look, idempotency_key: str) -> dict[str, int]:
        self._called(tool, idempotency_key)
        return {"seen": len(self.state.seen)}

    def _called(self, tool: Pay, key: str) -> str:
        name = f"{tool.request} {tool.amount}"
        self.state.seen.append(name)
        self.world.log.append((name, key))
        if error := self.world.errors.pop(name, None):
            raise error
        return f"{name} done"


class World:
    """The outside world: the log of effects, and the faults at each of them."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.errors: dict[str, BaseException] = {}

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.log]


def _text(*calls: str) -> str:
    return " ".join(f'{{"request": "{name}", "amount": {amount}}}' for name, amount in map(str.split, calls))


class Case:
    """A task whose model calls `calls` once, and then says what it was told."""

    def __init__(self, store: Store, *calls: str, kind: type[Clerk] = Clerk, **config: Any) -> None:
        self.store = store
        self.world = World()
        app = App("side-effects", version="1")

        @app.task
        def clerk() -> Task:
            def say(text: str) -> str:
                return _text(*calls) if text == "hello" else f"DONE {text}"

            agent = kind(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=say), **config))
            agent.world = self.world
            agent.enable_message([Pay, Book, Look, Send, Ship, Insist])
            return Task(agent, interactive=False)

        self.app = app
        self.desk = Desk(store, app)
        with self.desk:
            self.run_id = self.desk.submit("clerk")

    def go_on(self) -> RunRecord:
        """Go on with a fresh process, until the run ends or waits; one that is killed takes its lease with it."""
        self.store.coordinator.take_over_all()
        desk = Desk(self.store, self.app, beside=self.desk)
        desk.responders.start()
        for _ in range(20):
            moved = desk.coordinator.move(self.run_id)
            again = kept(moved.run.waiting_for).get("kind") == "retry"
            if moved.ask is None and not moved.run.ended and (moved.run.status == "running" or again):
                ask = self._awaited()
                desk.responders.answer(permit(ask))
            elif moved.ask is None or not desk.answer(moved):
                break
        desk.responders.stop()
        return self.store.inspector.run(self.run_id)

    def killed(self) -> None:
        """Go on with a process that is killed."""
        with pytest.raises(Killed):
            self.go_on()

    def parked(self) -> AskRecord:
        [ask] = self.store.tenant(DEFAULT_TENANT).parked_asks()
        return ask

    def resolve(self, outcome: Any, result: Any = None) -> RunRecord:
        """Let a person decide, and go on."""
        resolution = Resolution(outcome=outcome, result=as_result(result))
        self.store.tenant(DEFAULT_TENANT).resolve(self.run_id, self.parked().id, resolution)
        return self.go_on()

    def said(self) -> str:
        """The text of the run's result."""
        result = self.store.inspector.run(self.run_id).result
        assert result is not None, self.store.inspector.run(self.run_id)
        return str(result["content"])

    def state(self) -> list[str]:
        """Return what the agent's state has seen, on record."""
        with self.store.coordinator.locked(self.run_id) as transaction:
            return list((transaction.agent("clerk").state or {})["seen"])

    def _awaited(self) -> AskRecord:
        with self.store.coordinator.locked(self.run_id) as transaction:
            ask = transaction.open_ask()
        assert ask is not None
        return ask


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "record.db")
    yield Store(database)
    database.close()


@pytest.mark.parametrize("name", ["look", "book"])
def test_what_may_be_called_again_is_called_again_with_the_same_key(store: Store, name: str) -> None:
    case = Case(store, f"{name} 1")
    case.world.errors[f"{name} 1"] = Killed()
    case.killed()
    assert case.go_on().status == "completed"
    assert case.world.names == [f"{name} 1"] * 2
    assert len({key for _, key in case.world.log}) == 1
    assert case.state() == [f"{name} 1"]


def test_what_is_done_once_waits_for_a_person(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    run = case.go_on()
    assert (run.status, kept(run.waiting_for).get("kind")) == ("waiting", "parked")
    assert case.go_on().status == "waiting"
    assert case.world.names == ["pay 1"]
    why = kept(case.parked().parked)
    assert (why["tool"], why["arguments"]["amount"], why["idempotency_key"]) == ("pay", 1, case.world.log[0][1])


@pytest.mark.parametrize("result", ["paid by hand", {"$tool": "pay", "amount": 5}])
def test_a_call_that_happened_is_not_made_and_its_result_is_what_the_person_says(store: Store, result: Any) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    case.resolve("happened", result)
    assert case.world.names == ["pay 1"]
    assert case.said() == ("paid by hand" if isinstance(result, str) else '{"$tool": "pay", "amount": 5}')


def test_a_call_that_returned_nothing_answers_nothing(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    case.resolve("happened")
    # So the model was asked once more, and has called it once more: in a call of its own.
    assert case.world.names == ["pay 1"] * 2
    assert len({key for _, key in case.world.log}) == 2


def test_a_persons_result_runs_no_tool_that_the_model_may_not_use(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    case.resolve("happened", "paid")
    documents = store.inspector.transcript_documents(case.run_id)
    [answer] = [body for body in documents if body["metadata"].get("sender") == "Agent" and body["content"] == "paid"]
    assert answer["metadata"]["tainted"] is True


def test_a_call_is_made_again_if_a_person_says_so_with_the_same_key(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    assert case.resolve("again").status == "completed"
    assert case.world.names == ["pay 1"] * 2
    assert len({key for _, key in case.world.log}) == 1


def test_a_run_fails_if_a_person_says_so(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    run = case.resolve("fail")
    assert (run.status, run.status_code, kept(run.error)["tool"]) == ("failed", "ERROR", "pay")
    assert case.world.names == ["pay 1"]


def test_calls_that_have_ended_are_not_made_again(store: Store) -> None:
    case = Case(store, "pay 1", "book 2", "look 3", "book 4")
    case.world.errors["book 4"] = Killed()
    case.killed()
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1", "book 2", "look 3", "book 4", "look 3", "book 4"]
    assert case.said() == _results("pay 1", "book 2", "look", "book 4")
    assert case.state() == ["pay 1", "book 2", "look 3", "book 4"]


def test_a_call_in_the_middle_waits_for_a_person_while_those_before_it_stand(store: Store) -> None:
    case = Case(store, "pay 1", "look 2", "pay 3", "pay 4")
    case.world.errors["pay 3"] = Killed()
    case.killed()
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["call"] == 3
    case.world.errors["pay 4"] = Killed()
    with pytest.raises(Killed):
        case.resolve("happened", "paid 3 by hand")
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["call"] == 4
    case.resolve("again")
    assert case.world.names == ["pay 1", "look 2", "pay 3", "pay 4", "pay 4"]
    assert "Result from pay: paid 3 by hand" in case.said()
    # The state is what the calls made of it; what a person says changes none.
    assert case.state() == ["pay 1", "look 2", "pay 4"]


def test_a_crash_between_two_calls_loses_neither(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(store, "pay 1", "pay 2")

    def killed(*arguments: Any) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(store.worker, "keep_receipts", killed)
        case.killed()
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["call"] == 1
    case.resolve("happened", "pay 1 done")
    assert case.world.names == ["pay 1", "pay 2"]
    assert case.said() == _results("pay 1", "pay 2")


def _results(*names: str) -> str:
    texts = {"look": '{"seen": 3}'}
    return "\n\n".join(f"Result from {name.split()[0]}: {texts.get(name, f'{name} done')}" for name in names)


def test_a_zombie_makes_no_further_call(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(store, "pay 1", "pay 2")

    original = store.worker.keep_receipts

    def late(claim: Any, receipts: Any) -> bool:
        # While this process was away, its lease ran out and another took over.
        store.coordinator.take_over_all()
        return original(claim, receipts)

    with monkeypatch.context() as patch:
        patch.setattr(store.worker, "keep_receipts", late)
        case.go_on()
    assert case.world.names == ["pay 1"]
    assert case.go_on().status == "waiting"
    assert case.world.names == ["pay 1"]


def test_a_worker_that_could_not_renew_its_lease_begins_no_call(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(store, "pay 1")

    with Desk(store, case.app, beside=case.desk, moves="coordinator") as desk:
        moved = desk.coordinator.move(case.run_id)
        desk.answer(moved)  # the model
        moved = desk.coordinator.move(case.run_id)
        claimed = store.worker.claim

        def claim(*arguments: Any) -> Any:
            found = claimed(*arguments)
            desk.responders._incarnation._lease = -1.0
            return found

        monkeypatch.setattr(store.worker, "claim", claim)
        assert desk.answer(moved)
        monkeypatch.undo()
    assert case.world.names == []
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1"]


def test_a_handler_whose_database_went_away_in_the_middle_is_not_called_twice(store: Store) -> None:
    case = Case(store, "book 1", "pay 2")
    case.world.errors["pay 2"] = DatabaseUnavailableError("it is away")
    assert case.go_on().status == "waiting"
    case.resolve("happened", "pay 2 done")
    assert case.world.names == ["book 1", "pay 2"]
    assert case.said() == _results("book 1", "pay 2")


def test_a_handler_that_may_be_called_again_is_called_again_when_its_database_is_back(store: Store) -> None:
    case = Case(store, "pay 1", "look 2")
    case.world.errors["look 2"] = DatabaseUnavailableError("it is away")
    case.go_on()
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1", "look 2", "look 2"]


class Wrapping(Clerk):
    def handle_message(self, msg: str | ChatDocument) -> Any:
        self.world.log.append(("wrapped", ""))
        return super().handle_message(msg)


def test_an_agents_own_code_is_parked_as_a_whole(store: Store) -> None:
    case = Case(store, "pay 1", "look 2", kind=Wrapping)
    case.world.errors["look 2"] = Killed()
    case.killed()
    case.go_on()
    assert kept(case.parked().parked)["tool"] == "handle_message"
    case.resolve("happened", "all of it")
    assert case.said() == "all of it"
    assert case.world.names[-3:] == ["wrapped", "pay 1", "look 2"]


def test_an_agents_own_code_that_may_be_called_again_keeps_what_its_tools_have_done(store: Store) -> None:
    case = Case(store, "pay 1", "look 2", kind=Wrapping, fallback_effect="read_only")
    case.world.errors["look 2"] = Killed()
    case.killed()
    assert case.go_on().status == "completed"
    assert case.world.names[-5:] == ["wrapped", "pay 1", "look 2", "wrapped", "look 2"]


class Tampering(Clerk):
    """Changes what the framework keeps of it."""

    def pay(self, tool: Pay, idempotency_key: str) -> str:
        self.set_system_message(f"paid {tool.amount}")
        self.update_history("a note", f"noted {tool.amount}")
        self.disable_message_use(Look)
        return super().pay(tool, idempotency_key)


def test_what_a_call_has_changed_of_its_agent_is_there_after_a_crash(store: Store) -> None:
    histories = []
    for crash in (False, True):
        case = Case(store, "pay 1", "book 2", kind=Tampering)
        if crash:
            case.world.errors["book 2"] = Killed()
            case.killed()
        assert case.go_on().status == "completed"
        with store.coordinator.locked(case.run_id) as transaction:
            agent = transaction.agent("clerk")
            bodies = [transaction.history_row("clerk", n).body for n in range(agent.history_len)]
        histories.append((agent.record, [(body["role"], body["content"]) for body in bodies]))
        assert agent.record is not None
        assert agent.record["system_message"] == "paid 1"
    assert histories[0] == histories[1]
    assert case.world.names == ["pay 1", "book 2", "book 2"]


class Send(ToolMessage):
    request: str = "send"
    purpose: str = "To send <amount>, which takes too long."
    amount: int
    _timeout = 0.05


class Ship(Send):
    request: str = "ship"
    _effect = "idempotent"


class Insist(Send):
    request: str = "insist"
    _retry = RetryPolicy(tries=2, first_wait=0)


class Slow(Clerk):
    """Sends for as long as it is left to, in the ways of `how`."""

    how = "async"

    async def _send(self) -> str:
        await asyncio.Event().wait()
        return "never"

    def send(self, tool: Send, idempotency_key: str) -> str:
        self.world.log.append((f"{tool.request} {tool.amount}", idempotency_key))
        if self.how == "async":
            return run_in_background(self._send)
        while not cancelled():
            time.sleep(0.001)
        if self.how == "stopped":
            check_cancelled()
        if self.how == "nothing":
            raise ValueError("nothing was sent")
        return f"{tool.request} {tool.amount} done, late"

    ship = insist = send


class SlowOutside(Slow):
    """Its own code is a handler that calls others."""

    def handle_message(self, msg: str | ChatDocument) -> Any:
        return super().handle_message(msg)


def slow(how: str, of: type[Slow] = Slow) -> type[Slow]:
    return type("Slow", (of,), {"how": how})


@pytest.mark.parametrize("how", ["async", "stopped"])
@pytest.mark.parametrize("calls", [["send 1"], ["look 0", "send 1"], ["insist 1"]])
def test_what_is_done_once_and_was_cut_short_by_its_time_limit_waits_for_a_person(
    store: Store, how: str, calls: list[str]
) -> None:
    case = Case(store, *calls, kind=slow(how))
    run = case.go_on()
    assert (run.status, kept(run.waiting_for).get("kind")) == ("waiting", "parked")
    tries = 2 if calls == ["insist 1"] else 1
    assert case.world.names == [*calls[:-1], *([calls[-1]] * tries)]
    why = kept(case.parked().parked)
    assert (why["tool"], why["call"], why["error"]["code"]) == (calls[-1].split()[0], len(calls), "timeout")
    assert why["worker"]["id"]
    case.resolve("happened", "sent by hand")
    assert "sent by hand" in case.said()
    assert case.world.names == [*calls[:-1], *([calls[-1]] * tries)]


def test_a_run_that_a_person_lets_fail_has_the_error_that_cut_the_call_short(store: Store) -> None:
    case = Case(store, "send 1", kind=slow("async"))
    case.go_on()
    run = case.resolve("fail")
    assert (run.status, kept(run.error)["code"], kept(run.error)["tool"]) == ("failed", "timeout", "send")


def test_an_agents_own_code_around_a_call_that_was_cut_short_is_parked_as_a_whole(store: Store) -> None:
    case = Case(store, "send 1", kind=slow("async", SlowOutside))
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["tool"] == "handle_message"


@pytest.mark.parametrize(("call", "how"), [("ship 1", "async"), ("send 1", "nothing")])
def test_a_call_of_which_all_is_known_ends_its_run(store: Store, call: str, how: str) -> None:
    case = Case(store, call, kind=slow(how))
    assert case.go_on().status == "failed"
    assert case.world.names == [call]


def test_the_late_result_of_a_handler_that_nobody_can_interrupt_is_taken(store: Store) -> None:
    case = Case(store, "send 1", "pay 2", kind=slow("late"))
    assert case.go_on().status == "completed"
    assert "send 1 done, late" in case.said()
    assert case.world.names == ["send 1", "pay 2"]


def test_a_run_that_failed_by_a_handler_is_retried_with_what_the_others_have_done(store: Store) -> None:
    case = Case(store, "pay 1", "pay 2")
    case.world.errors["pay 2"] = ValueError("no money")
    assert case.go_on().status == "failed"
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1", "pay 2", "pay 2"]
    assert case.said() == _results("pay 1", "pay 2")


def test_a_run_that_a_person_let_fail_still_does_not_know_what_happened_when_it_is_retried(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = Killed()
    case.killed()
    case.go_on()
    case.resolve("fail")
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "waiting"
    case.resolve("happened", "paid after all")
    assert case.said() == "paid after all"
    assert case.world.names == ["pay 1"]
