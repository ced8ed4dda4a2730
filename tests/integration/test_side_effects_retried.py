"""Served runs that failed at a handler, or ended while it was in doubt, and are retried."""

from __future__ import annotations

from threading import Lock
from typing import Any

import pytest
from tests.support.kept_values import kept
from tests.support.served_parts import Desk
from tests.support.side_effects import Case, Clerk, Killed, Pay, results
from tests.support.store_parts import new_worker

from turnwise import AgentDoneTool, ChatDocument, FinalResultTool, GlobalState
from turnwise.errors import ToolOutcomeUnknownError, UnwritableError
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Claim


class Paid(FinalResultTool):
    request: str = "paid"
    by: str = "card"


class Settings(GlobalState):
    last: str = ""


class Finishing(Clerk):
    """Ends the run with a tool that the application may not know."""

    def pay(self, tool: Pay, idempotency_key: str) -> Any:
        self._called(tool, idempotency_key)
        return Paid()


class HandingOn(Clerk):
    def pay(self, tool: Pay, idempotency_key: str) -> Any:
        self._called(tool, idempotency_key)
        return AgentDoneTool(tools=[Paid()])


class Answering(Clerk):
    """Says what was never written."""

    def pay(self, tool: Pay, idempotency_key: str) -> Any:
        self._called(tool, idempotency_key)
        return self.create_agent_response("paid", content_any=Lock())


class Holding(Clerk):
    """Keeps what cannot be kept."""

    def pay(self, tool: Pay, idempotency_key: str) -> str:
        self.lock = Lock()
        return self._called(tool, idempotency_key)


class Sharing(Clerk):
    """Changes what all agents of a process share."""

    def pay(self, tool: Pay, idempotency_key: str) -> str:
        Settings.set_values(last=idempotency_key)
        return self._called(tool, idempotency_key)


class Choosy(Clerk):
    """Fails when it puts the results of its handlers together."""

    def create_agent_response(self, *args: Any, **more: Any) -> ChatDocument:
        if error := self.world.errors.pop("answer", None):
            raise error
        return super().create_agent_response(*args, **more)


def test_a_run_that_failed_by_a_handler_is_retried_with_what_the_others_have_done(store: Store) -> None:
    case = Case(store, "pay 1", "pay 2")
    case.world.errors["pay 2"] = ValueError("no money")
    assert case.go_on().status == "failed"
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1", "pay 2", "pay 2"]
    assert case.said() == results("pay 1", "pay 2")


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


@pytest.mark.parametrize("ending", ["deadline", "fail"])
@pytest.mark.parametrize("calls", [["pay 1"], ["book 1", "pay 2"]])
def test_a_parked_call_whose_run_ended_undecided_is_parked_again_when_it_is_retried(
    store: Store, ending: str, calls: list[str]
) -> None:
    case = Case(store, *calls)
    case.world.errors[calls[-1]] = ToolOutcomeUnknownError("the bank did not answer")
    assert case.go_on().status == "waiting"
    if ending == "fail":
        case.resolve("fail")
    else:
        case.out_of_time()
    store.tenant(DEFAULT_TENANT).retry(case.run_id, RetryLimits(deadline=600))
    run = case.go_on()
    assert (run.status, kept(run.waiting_for).get("kind")) == ("waiting", "parked")
    assert case.world.names == calls
    assert case.resolve("again").status == "completed"
    assert case.world.names == [*calls, calls[-1]]


def test_a_call_that_a_person_let_be_made_again_is_in_doubt_no_longer(store: Store) -> None:
    case = Case(store, "pay 1")
    case.world.errors["pay 1"] = ToolOutcomeUnknownError("the bank did not answer")
    case.go_on()
    case.world.errors["pay 1"] = ValueError("no money")
    assert case.resolve("again").status == "failed"
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1"] * 3


def test_a_model_whose_ask_lost_every_worker_leaves_no_call_in_doubt(store: Store) -> None:
    case = Case(store, "pay 1")
    with Desk(store, case.app, beside=case.desk) as desk:
        desk.coordinator.move(case.run_id)
    ask = case.awaited()
    queue = ask.queue or ""
    for _ in range(ask.max_attempts):
        assert store.worker.claim(queue, new_worker(store, queue)) is not None
        store.coordinator.take_over_all()
    assert case.parked().responder == "llm"
    case.out_of_time()
    store.tenant(DEFAULT_TENANT).retry(case.run_id, RetryLimits(deadline=600))
    assert case.go_on().status == "completed"
    assert case.world.names == ["pay 1"]


@pytest.mark.parametrize("kind", [Finishing, HandingOn])
def test_a_handler_that_has_returned_a_tool_that_no_agent_knew_is_not_called_again(
    store: Store, kind: type[Clerk]
) -> None:
    case = Case(store, "pay 1", kind=kind)
    for _ in range(2):
        assert "enable it in the factory" in kept(case.go_on().error)["message"]
        store.tenant(DEFAULT_TENANT).retry(case.run_id)
    case.deploy(Paid)
    run = case.go_on()
    assert run.result is not None
    assert [tool["by"] for tool in run.result["tool_messages"]] == ["card"]
    assert case.world.names == ["pay 1"]
    assert case.state() == ["pay 1"]


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (Answering, ["pay 1"]),
        (Holding, ["pay 1"]),
        (Holding, ["look 1", "pay 2"]),
        (Holding, ["pay 1", "book 2"]),
        (Sharing, ["pay 1"]),
        (Sharing, ["look 1", "pay 2"]),
    ],
)
def test_a_handler_whose_result_could_not_be_kept_is_parked_when_its_run_is_retried(
    store: Store, kind: type[Clerk], calls: list[str]
) -> None:
    case = Case(store, *calls, kind=kind)
    assert case.go_on().status == "failed"
    paid = [name for name in case.world.names if name.startswith("pay")]
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    run = case.go_on()
    assert (run.status, kept(run.waiting_for).get("kind")) == ("waiting", "parked")
    assert kept(case.parked().parked)["tool"] == "pay"
    case.resolve("happened", "paid by hand")
    assert "paid by hand" in case.said()
    assert [name for name in case.world.names if name.startswith("pay")] == paid


def test_a_handler_that_has_returned_is_not_called_again_after_an_error_of_its_answer(store: Store) -> None:
    case = Case(store, "look 1", "pay 2", kind=Choosy)
    case.world.errors["answer"] = ValueError("no words")
    assert case.go_on().status == "failed"
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "completed"
    assert case.world.names == ["look 1", "pay 2"]
    assert case.state() == ["look 1", "pay 2"]


@pytest.mark.parametrize("calls", [["pay 1"], ["look 1", "pay 2"]])
def test_a_handler_whose_answer_the_database_refused_is_parked_when_its_run_is_retried(
    store: Store, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(store, *calls)
    original = store.worker.reply

    def refuse(claim: Claim, reply: Reply, then: Any = None) -> bool:
        if claim.ask.responder == "agent" and reply.kind == "answer":
            raise UnwritableError("the database cannot keep this")
        return original(claim, reply, then)

    with monkeypatch.context() as patch:
        patch.setattr(store.worker, "reply", refuse)
        assert case.go_on().status == "failed"
    store.tenant(DEFAULT_TENANT).retry(case.run_id)
    assert case.go_on().status == "waiting"
    assert kept(case.parked().parked)["tool"] == "pay"
    assert [name for name in case.world.names if name.startswith("pay")] == calls[-1:]
