"""The inbox over HTTP: questions and parked calls, and what people say of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cli import Terminal, terminal
from tests.support.client_views import parked_asks, present
from tests.support.gateway_parts import Served, served
from tests.support.store_parts import new_ask, new_worker

from turnwise.bus.in_process import InProcessBus
from turnwise.client import Client
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError
from turnwise.record.database.schema import asks
from turnwise.record.states import RunStatus
from turnwise.record.values.outcomes import Parking, Receipt

__all__ = ["terminal"]

QUEUE = "agent-desk"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def client(gateway: Served) -> Iterator[Client]:
    with Client(gateway.base_url) as made:
        yield made


def _park(gateway: Served, *, responder: Any = "agent", tool: str = "refund", exhausted: bool = False) -> str:
    """A run whose ask is parked; the ask's id."""
    run_id = gateway.submit()
    ask_id = f"{run_id}.1.2.1"
    with gateway.store.coordinator.locked(run_id) as transaction:
        told = {"path": "desk", "agent": "desk", "responder": responder, "max_attempts": 1 if exhausted else 5}
        transaction.add_ask(new_ask(QUEUE, turn=2, id=ask_id, message_id=None, **told))
        transaction.change(status=RunStatus.RUNNING, awaiting=ask_id, move_due_at=None)
    claim = gateway.store.worker.claim(QUEUE, new_worker(gateway.store, QUEUE))
    assert claim is not None
    gateway.store.coordinator.take_over_all()
    if not exhausted:
        claim = gateway.store.worker.claim(QUEUE, new_worker(gateway.store, QUEUE))
        assert claim is not None
        arguments = {"$tool": tool, "request": tool, "purpose": "", "id": "", "cents": 250}
        call = Receipt(call_no=1, tool=tool, status="begun", key=f"{ask_id}.1", effect="once", arguments=arguments)
        gateway.store.worker.park(claim, Parking(reason="unknown_outcome", call=call))
    return ask_id


def test_the_inbox_shows_questions_and_parked_calls_oldest_first(gateway: Served, client: Client) -> None:
    first = _park(gateway)
    question = gateway.ask_human(gateway.submit())
    last = _park(gateway, responder="llm", exhausted=True)

    items = client.inbox()

    assert [(item.kind, item.id) for item in items] == [
        ("parked", first),
        ("question", question),
        ("parked", last),
    ]
    call, ask = parked_asks([items[0], items[2]])
    assert (call.tool, call.arguments, call.reason) == ("refund", {"cents": 250}, "unknown_outcome")
    assert (call.idempotency_key, call.agent, call.attempts) == (f"{first}.1", "desk", 2)
    assert present(call.worker).pid == 1
    assert present(call.began_at) <= call.parked_at
    assert (ask.tool, ask.reason, present(ask.error)["code"]) == (None, "attempts_exhausted", "attempts_exhausted")
    assert [item.id for item in client.inbox(limit=2)] == [first, question]
    assert [item.id for item in client.all_inbox(limit=1)] == [first, question, last]
    assert client.inbox_page(limit=3).next_cursor is None
    count = client.inbox_count()
    assert (count.questions, count.parked, count.latest_at) == (1, 2, ask.parked_at)
    run = client.run(call.run)
    assert (run.status, present(run.waiting_for)["kind"], present(run.waiting_for)["tool"]) == (
        "waiting",
        "parked",
        "refund",
    )


def test_the_command_lists_all_of_an_inbox_of_several_pages(gateway: Served, terminal: Terminal) -> None:
    asked = [gateway.ask_human(gateway.submit()) for _ in range(101)]

    listed = json.loads(terminal.run("inbox", "--json", "--url", gateway.base_url))

    assert [item["id"] for item in listed] == asked


def test_a_call_that_is_made_again_is_published_at_once(gateway: Served, client: Client) -> None:
    ask = _park(gateway)
    run = client.resolve(ask, "again")
    assert run.status == "running"
    assert isinstance(gateway.bus, InProcessBus)
    assert gateway.bus.waiting(QUEUE) == 1
    assert client.inbox() == []
    assert (client.inbox_count().parked, client.inbox_count().latest_at) == (0, None)
    assert gateway.store.worker.claim(QUEUE, new_worker(gateway.store, QUEUE)) is not None


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ("refunded", {"value": "refunded", "text": "refunded", "person": True}),
        ({"$tool": "x"}, {"value": {"$data": {"$tool": "x"}}, "text": '{"$tool": "x"}', "person": True}),
        (None, {"value": None}),
    ],
)
def test_a_call_that_happened_has_the_result_that_was_given(
    gateway: Served, client: Client, result: Any, kept: Any
) -> None:
    ask = _park(gateway)
    client.resolve(ask, "happened", result)
    [receipt] = gateway.store.worker.receipts(ask.partition(".")[0], ask)
    assert (receipt.status, receipt.result, receipt.key) == ("done", kept, f"{ask}.1")


def test_a_run_that_is_let_fail_is_given_to_a_coordinator(gateway: Served, client: Client) -> None:
    ask = _park(gateway)
    client.resolve(ask, "fail")
    assert gateway.bus.waiting("coordinator") == 2  # its first move, and this one
    events = [event.type for event in gateway.store.inspector.events(ask.partition(".")[0])]
    assert events[-2:] == ["ask.resolved", "turn.replied"]


def test_the_first_decision_counts(gateway: Served, client: Client) -> None:
    ask = _park(gateway)
    client.resolve(ask, "again")
    with pytest.raises(ConflictError) as raised:
        client.resolve(ask, "happened", "too late")
    assert raised.value.code == "already_resolved"


def test_what_can_not_be_resolved_is_refused_with_the_reason(gateway: Served, client: Client) -> None:
    question = gateway.ask_human(gateway.submit())
    with pytest.raises(InvalidRequestError, match="messages"):
        client.resolve(question, "again")
    model = _park(gateway, responder="llm", exhausted=True)
    with pytest.raises(InvalidRequestError, match="again or fail"):
        client.resolve(model, "happened", "x")
    call = _park(gateway)
    with pytest.raises(InvalidRequestError, match="is for the outcome happened"):
        client.resolve(call, "again", "x")
    for unknown in ("run_none.1.1.1", "no such thing", f"{call}.1", "../runs"):
        with pytest.raises(NotFoundError):
            client.resolve(unknown, "again")
    for body in ({"outcome": "perhaps"}, {}, {"outcome": "fail", "other": 1}):
        assert gateway.http.post(f"/v1/inbox/{call}", json=body).status_code == 422


def test_a_handler_that_always_returns_something_needs_a_result(gateway: Served, client: Client) -> None:
    ask = _park(gateway, tool="done_tool")
    with pytest.raises(InvalidRequestError, match="always returns something"):
        client.resolve(ask, "happened")
    client.resolve(ask, "happened", "done")


def test_a_parked_run_can_be_cancelled_and_is_in_nobodys_inbox_then(gateway: Served, client: Client) -> None:
    ask = _park(gateway)
    run_id = ask.partition(".")[0]
    client.cancel(run_id)
    with gateway.store.coordinator.locked(run_id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    assert client.inbox() == []
    with pytest.raises(ConflictError, match="its run has ended"):
        client.resolve(ask, "again")


def test_the_metric_counts_questions_and_parked_calls(gateway: Served) -> None:
    _park(gateway)
    gateway.ask_human(gateway.submit())
    assert "turnwise_human_inbox_open 2.0" in gateway.http.get("/metrics").text


def test_pages_of_the_inbox_meet_without_a_gap_while_it_changes(gateway: Served, client: Client) -> None:
    asked = [gateway.ask_human(gateway.submit()) for _ in range(5)]
    with gateway.store.database.begin() as connection:  # several at the same moment
        connection.execute(sa.update(asks).where(asks.c.id.in_(asked[1:4])).values(created_at=1000.0))
    first = client.inbox_page(limit=2)
    client.answer(asked[1].partition(".")[0], "yes")
    new = gateway.ask_human(gateway.submit())
    rest = client.inbox_page(cursor=first.next_cursor, limit=10)

    found = [item.id for item in [*first.items, *rest.items]]
    assert found == [*sorted(asked[1:4]), asked[0], asked[4], new]
    assert rest.next_cursor is None


@pytest.mark.parametrize(
    "cursor", ["x", "bnVsbA", "WyJhIiwiYiJd", "WzFlOTk5LCJhIl0", "W05hTiwiYSJd", "WzEsIlx1MDAwMCJd"]
)
def test_a_cursor_of_no_inbox_is_refused(gateway: Served, cursor: str) -> None:
    answer = gateway.http.get("/v1/inbox", params={"cursor": cursor})

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
