"""Served runs with handlers whose worker was lost in the middle of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.kept_values import kept
from tests.support.served_parts import Desk
from tests.support.side_effects import Case, Clerk, Killed, Look, Pay, results

from turnwise import (
    ChatDocument,
)
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.store import Store


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
    assert case.said() == results("pay 1", "book 2", "look", "book 4")
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
    assert case.said() == results("pay 1", "pay 2")


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
    assert case.said() == results("book 1", "pay 2")


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
