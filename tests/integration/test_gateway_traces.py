"""Requests of the gateway as spans, and what they leave on record for what follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.waiting import until
from tests.support.gateway_parts import Served, served
from tests.support.store_parts import new_ask, new_worker
from tests.support.telemetry import Memory, SeenSpan, in_memory

from turnwise.base.waits import HumanWait
from turnwise.client import Client
from turnwise.record.states import RunStatus
from turnwise.record.values.outcomes import Parking, Receipt

MOVE = "00-" + "c" * 32 + "-" + "7" * 16 + "-01"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with in_memory() as found:
        yield found


@pytest.fixture
def gateway(memory: Memory, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def client(gateway: Served) -> Iterator[Client]:
    with Client(gateway.base_url) as made:
        yield made


def request(memory: Memory, name: str) -> SeenSpan:
    """The span of a request; it may end a moment after the answer was read."""
    return until(lambda: next((span for span in memory.spans() if span.name == name), None), name)


def is_of(traceparent: str | None, span: SeenSpan) -> bool:
    return traceparent is not None and traceparent.startswith(f"00-{span.trace}-{span.id}-")


def asked(gateway: Served, responder: str) -> str:
    """A run that has asked somebody, within a traced move; the ask's id."""
    run_id = gateway.submit()
    ask_id = f"{run_id}.1.1.1"
    with gateway.store.coordinator.locked(run_id) as transaction:
        queue = None if responder == "user" else "agent-desk"
        told: dict[str, Any] = {"path": "desk", "agent": "desk", "responder": responder, "traceparent": MOVE}
        transaction.add_ask(new_ask(queue, id=ask_id, message_id=None, **told))
        transaction.change(status=RunStatus.RUNNING, awaiting=ask_id, move_due_at=None)
    return ask_id


def test_a_submission_is_within_the_span_of_the_program_that_made_it(
    gateway: Served, client: Client, memory: Memory
) -> None:
    with memory.tracers.get_tracer("mine").start_as_current_span("mine") as mine:
        run_id = client.submit("desk", "hello").id

    submitted = request(memory, "POST /v1/runs")
    assert submitted.kind == "SERVER"
    assert submitted.trace == f"{mine.get_span_context().trace_id:032x}"
    assert submitted.parent == f"{mine.get_span_context().span_id:016x}"
    assert is_of(gateway.store.inspector.run(run_id).traceparent, submitted)
    assert "http.server.request.duration" in memory.histograms()


def test_a_traceparent_of_any_client_is_taken_and_a_broken_one_is_not(gateway: Served, memory: Memory) -> None:
    for given in (MOVE, "00-nothing-of-it-01"):
        run = gateway.http.post("/v1/runs", json={"task": "desk", "message": "hi"}, headers={"traceparent": given})
        kept = gateway.store.inspector.run(run.json()["id"]).traceparent
        assert kept is not None
        assert (kept.split("-")[1] == "c" * 32) == (given == MOVE)


def test_probes_and_scrapes_are_no_spans(gateway: Served, memory: Memory) -> None:
    for path in ("/health/live", "/health/ready", "/metrics"):
        gateway.http.get(path)

    assert memory.spans() == []


def test_an_answer_is_linked_to_the_question_and_kept_with_the_reply(
    gateway: Served, client: Client, memory: Memory
) -> None:
    question = asked(gateway, "user")
    run_id = question.partition(".")[0]
    with gateway.store.coordinator.locked(run_id) as transaction:
        transaction.change(status=RunStatus.WAITING, waiting_for=HumanWait(question=question, task="desk"))

    client.answer(run_id, "yes")

    answered = request(memory, "POST /v1/runs/{run_id}/messages")
    assert [link[1] for link in answered.links] == ["7" * 16]
    with gateway.store.coordinator.locked(run_id) as transaction:
        reply = transaction.reply()
    assert reply is not None
    assert is_of(reply.traceparent, answered)


def test_resolving_a_parked_call_is_linked_to_it_and_what_follows_to_that(
    gateway: Served, client: Client, memory: Memory
) -> None:
    ask_id = asked(gateway, "agent")
    claim = gateway.store.worker.claim("agent-desk", new_worker(gateway.store, "agent-desk"))
    assert claim is not None
    call = Receipt(call_no=1, tool="refund", status="begun", key=f"{ask_id}.1", effect="once")
    gateway.store.worker.park(claim, Parking(reason="unknown_outcome", call=call))

    client.resolve(ask_id, "again")

    resolved = request(memory, "POST /v1/inbox/{item_id}")
    assert [link[1] for link in resolved.links] == ["7" * 16]
    again = gateway.store.worker.claim("agent-desk", new_worker(gateway.store, "agent-desk"))
    assert again is not None
    assert is_of(again.ask.traceparent, resolved)


def test_a_fork_is_linked_to_what_it_was_forked_from(gateway: Served, client: Client, memory: Memory) -> None:
    run_id = client.submit("desk", "hello").id
    fork = client.fork(run_id, 1).id

    forked = request(memory, "POST /v1/runs/{run_id}/fork")
    assert [link[1] for link in forked.links] == [request(memory, "POST /v1/runs").id]
    assert is_of(gateway.store.inspector.run(fork).traceparent, forked)
