"""Receipts, and asks that wait for a person, on each database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.kept_values import kept
from tests.support.store_parts import asked_run, lose, new_queue, new_worker

from turnwise.base.waits import RetryWait
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Deferral, Parking, Receipt, Reply, Resolution
from turnwise.record.values.records import AskRecord, Claim, Json, RunRecord


def _claimed(store: Store, queue: str, worker: str | None = None) -> Claim:
    claim = store.worker.claim(queue, worker or new_worker(store, queue))
    assert claim is not None
    return claim


def _receipt(no: int, status: Any = "done", **more: Any) -> Receipt:
    result = {"value": f"result {no}"} if status == "done" else None
    return Receipt(call_no=no, tool="pay", status=status, key=f"key.{no}", effect="once", **({"result": result} | more))


def _agent_ask(store: Store, **ask: Any) -> tuple[str, RunRecord]:
    queue = new_queue()
    return queue, asked_run(store, queue, responder="agent", **ask)


def _ask(store: Store, claim: Claim) -> AskRecord:
    with store.coordinator.locked(claim.ask.run_id) as transaction:
        ask = transaction.ask(claim.ask.id)
    assert ask is not None
    return ask


def _parked(store: Store) -> tuple[str, Claim]:
    """An ask of an agent, parked in its second call."""
    queue, _ = _agent_ask(store)
    claim = _claimed(store, queue)
    call = _receipt(2, "begun", arguments={"amount": 3})
    assert store.worker.keep_receipts(claim, [_receipt(1), call])
    lose(store, claim)
    claim = _claimed(store, queue)
    assert store.worker.park(claim, Parking(reason="unknown_outcome", call=call))
    return queue, claim


def _events(store: Store, claim: Claim, type: str) -> list[Json]:
    return [event.data or {} for event in store.inspector.events(claim.ask.run_id) if event.type == type]


def test_receipts_are_kept_in_order_and_one_of_the_same_call_takes_the_place_of_the_earlier(store: Store) -> None:
    queue, _ = _agent_ask(store)
    claim = _claimed(store, queue)
    assert store.worker.receipts(claim.ask.run_id, claim.ask.id) == []

    assert store.worker.keep_receipts(claim, [_receipt(2, "begun"), _receipt(1, state={"n": 1}, record={"keep": None})])
    assert store.worker.keep_receipts(claim, [_receipt(2), _receipt(3, "begun")])

    kept = store.worker.receipts(claim.ask.run_id, claim.ask.id)
    assert [(one.call_no, one.status, one.result, one.worker_id) for one in kept] == [
        (1, "done", {"value": "result 1"}, claim.worker_id),
        (2, "done", {"value": "result 2"}, claim.worker_id),
        (3, "begun", None, claim.worker_id),
    ]
    assert (kept[0].state, kept[0].record, kept[0].key) == ({"n": 1}, {"keep": None}, "key.1")
    assert all(one.begun_at is not None for one in kept)


def test_a_zombie_can_not_write_a_receipt(store: Store) -> None:
    queue, run = _agent_ask(store)
    zombie = _claimed(store, queue)
    lose(store, zombie)
    assert not store.worker.keep_receipts(zombie, [_receipt(1)])
    claim = _claimed(store, queue)
    assert claim.ask.lost == 1
    assert not store.worker.keep_receipts(zombie, [_receipt(1)])
    assert store.worker.receipts(run.id, claim.ask.id) == []
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    assert not store.worker.keep_receipts(claim, [_receipt(1)])


def test_an_ask_that_is_put_off_has_no_call_in_the_middle(store: Store) -> None:
    queue, run = _agent_ask(store)
    claim = _claimed(store, queue)
    assert store.worker.keep_receipts(claim, [_receipt(1), _receipt(2, "begun")])
    assert store.worker.defer(claim, Deferral(seconds=0, waiting_for=RetryWait()))
    assert [one.call_no for one in store.worker.receipts(run.id, claim.ask.id)] == [1]
    assert _claimed(store, queue).ask.lost == 0


def test_a_parked_ask_waits_for_a_person_with_all_that_is_known_of_it(store: Store) -> None:
    before = store.inspector.open_question_count()
    queue, claim = _parked(store)
    run = store.inspector.run(claim.ask.run_id)

    assert run.status == "waiting"
    assert kept(run.waiting_for) == {
        "kind": "parked",
        "ask": claim.ask.id,
        "agent": "triage",
        "tool": "pay",
        "reason": "unknown_outcome",
    }
    assert store.worker.claim(queue, new_worker(store, queue)) is None
    assert store.inspector.open_question_count() == before + 1
    [ask] = [ask for ask in store.tenant(DEFAULT_TENANT).parked_asks(limit=1000) if ask.run_id == run.id]
    why = kept(ask.parked)
    assert (why["reason"], why["call"], why["tool"], why["arguments"]) == ("unknown_outcome", 2, "pay", {"amount": 3})
    assert (why["idempotency_key"], why["attempts"], why["worker"]["host"]) == ("key.2", 2, "here")
    assert why["worker"]["id"] != claim.worker_id  # the one that was lost in it, not the one that found it
    assert why["began_at"] <= (ask.parked_at or 0)
    [parked] = _events(store, claim, "ask.parked")
    assert (parked["reason"], parked["tool"], parked["attempt"]) == ("unknown_outcome", "pay", 2)
    # Nobody who held it before has anything to say any more.
    assert not store.worker.reply(claim, Reply(kind="nothing"))
    assert store.worker.park(claim, Parking(reason="unknown_outcome"))  # as before: it is parked


def test_a_call_that_happened_has_the_result_that_a_person_gives(store: Store) -> None:
    queue, claim = _parked(store)
    store.tenant(DEFAULT_TENANT).resolve(
        claim.ask.run_id, claim.ask.id, Resolution(outcome="happened", result={"value": "it was paid"})
    )

    next_claim = _claimed(store, queue)
    assert (next_claim.ask.attempts, next_claim.ask.lost) == (1, 0)
    assert next_claim.run.status == "running"
    kept = store.worker.receipts(claim.ask.run_id, claim.ask.id)
    assert [(one.call_no, one.status, one.result) for one in kept] == [
        (1, "done", {"value": "result 1"}),
        (2, "done", {"value": "it was paid"}),
    ]
    assert _events(store, claim, "ask.resolved") == [
        {"outcome": "happened", "reason": "unknown_outcome", "tool": "pay"}
    ]
    assert store.worker.reply(next_claim, Reply(kind="nothing"))


def test_a_call_that_is_made_again_is_forgotten_and_attempts_are_counted_anew(store: Store) -> None:
    queue, claim = _parked(store)
    store.tenant(DEFAULT_TENANT).resolve(claim.ask.run_id, claim.ask.id, Resolution(outcome="again"))
    assert [one.call_no for one in store.worker.receipts(claim.ask.run_id, claim.ask.id)] == [1]
    again = _claimed(store, queue)
    assert (again.ask.attempts, again.ask.lost) == (1, 0)
    lose(store, again)
    assert _claimed(store, queue).ask.lost == 1


def test_a_run_fails_where_a_person_says_so(store: Store) -> None:
    _, claim = _parked(store)
    store.tenant(DEFAULT_TENANT).resolve(claim.ask.run_id, claim.ask.id, Resolution(outcome="fail"))
    with store.coordinator.locked(claim.ask.run_id) as transaction:
        reply = transaction.reply()
    assert reply is not None
    assert (reply.kind, kept(reply.error)["code"], kept(reply.error)["tool"]) == ("error", "unknown_outcome", "pay")
    assert store.inspector.run(claim.ask.run_id).move_due_at is not None
    assert _ask(store, claim).status == "answered"


@pytest.mark.parametrize("outcome", ["happened", "again", "fail"])
def test_what_was_resolved_is_not_resolved_twice(store: Store, outcome: Any) -> None:
    before = store.inspector.open_question_count()
    _, claim = _parked(store)
    store.tenant(DEFAULT_TENANT).resolve(claim.ask.run_id, claim.ask.id, Resolution(outcome=outcome))
    assert store.inspector.open_question_count() == before
    with pytest.raises(ConflictError, match=f"already.*{outcome}") as raised:
        store.tenant(DEFAULT_TENANT).resolve(claim.ask.run_id, claim.ask.id, Resolution(outcome="again"))
    assert raised.value.code == "already_resolved"


def test_nothing_is_resolved_that_was_not_parked_or_is_a_question(store: Store) -> None:
    _, run = _agent_ask(store)
    with pytest.raises(NotFoundError):
        store.tenant(DEFAULT_TENANT).resolve(run.id, "ask-1-1", Resolution(outcome="again"))
    with pytest.raises(NotFoundError):
        store.tenant(DEFAULT_TENANT).resolve("run_none", "ask-1-1", Resolution(outcome="again"))
    question = asked_run(store, None)
    with pytest.raises(InvalidRequestError, match="is a question"):
        store.tenant(DEFAULT_TENANT).resolve(question.id, "ask-1-1", Resolution(outcome="again"))


def test_the_end_of_the_run_ends_what_is_parked(store: Store) -> None:
    before = store.inspector.open_question_count()
    _, claim = _parked(store)
    with store.coordinator.locked(claim.ask.run_id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    assert _ask(store, claim).status == "cancelled"
    assert store.inspector.open_question_count() == before
    with pytest.raises(ConflictError, match="its run has ended"):
        store.tenant(DEFAULT_TENANT).resolve(claim.ask.run_id, claim.ask.id, Resolution(outcome="again"))


@pytest.mark.parametrize("responder", ["llm", "agent"])
def test_an_ask_that_loses_its_workers_is_parked_with_who_and_when_and_tried_again(
    store: Store, responder: Any
) -> None:
    queue = new_queue()
    run = asked_run(store, queue, responder=responder, max_attempts=2)
    holders = []
    for _ in range(2):
        claim = _claimed(store, queue)
        holders.append(claim.worker_id)
        lose(store, claim)

    ask = _ask(store, claim)
    why = kept(ask.parked)
    assert (ask.status, why["reason"], why["error"]["code"]) == ("parked", "attempts_exhausted", "attempts_exhausted")
    assert [one["worker"] for one in why["error"]["attempts"]] == holders
    assert all(one["claimed_at"] <= one["lost_at"] for one in why["error"]["attempts"])
    assert store.inspector.run(run.id).status == "waiting"
    assert kept(store.inspector.run(run.id).waiting_for)["reason"] == "attempts_exhausted"
    assert [
        event.data["parked"] for event in store.inspector.events(run.id) if event.type == "ask.expired" and event.data
    ] == [
        False,
        True,
    ]
    assert not store.worker.reply(claim, Reply(kind="nothing"))

    happened = Resolution(outcome="happened", result={"value": "done"})
    if responder == "llm":
        with pytest.raises(InvalidRequestError, match="again or fail"):
            store.tenant(DEFAULT_TENANT).resolve(run.id, ask.id, happened)
        store.tenant(DEFAULT_TENANT).resolve(run.id, ask.id, replace(happened, outcome="again", result=None))
    else:
        store.tenant(DEFAULT_TENANT).resolve(run.id, ask.id, happened)
        assert [(one.call_no, one.tool) for one in store.worker.receipts(run.id, ask.id)] == [(1, "")]
    claim = _claimed(store, queue)
    assert claim.ask.attempts == 1
    assert store.worker.reply(claim, Reply(kind="nothing"))


def test_an_exhausted_ask_can_be_let_fail_with_its_error(store: Store) -> None:
    queue, run = _agent_ask(store, max_attempts=1)
    claim = _claimed(store, queue)
    lose(store, claim)
    store.tenant(DEFAULT_TENANT).resolve(run.id, claim.ask.id, Resolution(outcome="fail"))
    with store.coordinator.locked(run.id) as transaction:
        reply = transaction.reply()
    assert reply is not None
    assert "workers in a row" in kept(reply.error)["message"]
    assert kept(reply.error)["attempts"]
