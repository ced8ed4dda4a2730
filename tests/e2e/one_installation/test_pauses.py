"""A pause holds in every process, and what it held goes on when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.e2e.one_installation.conftest import DISTRIBUTED
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise.api.fleet import PauseKind
from turnwise.api.runs import RunWithTree
from turnwise.client import Client
from turnwise.errors import NotFoundError


@pytest.fixture(params=["embedded", "carrying", DISTRIBUTED[0]])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """The API of an installation whose tests may pause what they like."""
    with Client(request.getfixturevalue(request.param).url) as made:
        yield made


@contextmanager
def paused(client: Client, kind: PauseKind, name: str) -> Iterator[Callable[[], object]]:
    """A pause for the time of the block, or until what it gives is called."""
    client.pause(kind, name, "for a test")
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        client.resume(kind, name)

    try:
        yield end
    finally:
        if not ended:
            client.resume(kind, name)


def _held(client: Client, run_id: str) -> RunWithTree:
    def look() -> RunWithTree | None:
        run = client.run(run_id)
        assert run.status not in ("completed", "failed")
        return run if run.waiting_for and run.waiting_for["kind"] == "paused" else None

    return until(look, f"{run_id} to be held by a pause")


def test_a_paused_queue_holds_asks_until_it_is_resumed(client: Client) -> None:
    scenario = scenario_named("tool_loop")
    with paused(client, "queue", "llm") as resume:
        run_id = served.submit(client, scenario)
        run = _held(client, run_id)
        stat = until(lambda: next((one for one in client.queues() if one.queue == "llm"), None), "the queue")
        resume()
        served.finish(client, run_id, scenario)

    waiting_for = run.waiting_for
    assert isinstance(waiting_for, dict)
    assert run.status == "running"
    assert (waiting_for["scope"], waiting_for["name"], waiting_for["reason"]) == ("queue", "llm", "for a test")
    assert (stat.runnable, stat.backlog) == (0, 0)
    assert stat.paused_asks >= 1


@pytest.mark.parametrize(("kind", "name"), [("task", "tool_loop"), ("tenant", "default")])
def test_a_new_run_stays_queued_until_its_task_or_tenant_goes_on(client: Client, kind: PauseKind, name: str) -> None:
    scenario = scenario_named("tool_loop")
    with paused(client, kind, name) as resume:
        run_id = served.submit(client, scenario)
        run = _held(client, run_id)
        resume()
        served.finish(client, run_id, scenario)

    assert (run.status, run.started_at) == ("queued", None)


def test_a_run_of_a_paused_task_stops_at_its_next_ask_and_humans_are_still_heard(client: Client) -> None:
    scenario = scenario_named("order")
    run_id = served.submit(client, scenario)
    question = present(served.status_once(client, run_id, "waiting").waiting_for)["question"]
    with paused(client, "task", scenario.task) as resume:
        assert present(client.run(run_id).waiting_for)["kind"] == "human"
        client.answer(run_id, scenario.answers[0], question=question)
        _held(client, run_id)
        resume()
    again = served.status_once(client, run_id, "waiting")
    client.cancel(run_id)

    assert present(again.waiting_for)["kind"] == "human"
    assert present(again.waiting_for)["question"] != question


@pytest.mark.parametrize(("kind", "name"), [("queue", "llm"), ("task", "tool_loop")])
def test_what_is_paused_can_be_cancelled_and_runs_out_of_time(client: Client, kind: PauseKind, name: str) -> None:
    with paused(client, kind, name):
        cancelled = str(client.submit("tool_loop", "hello").id)
        late = str(client.submit("tool_loop", "hello", deadline=1.0).id)
        _held(client, cancelled)
        client.cancel(cancelled)
        ended = served.status_once(client, cancelled, "cancelled")
        timed_out = served.status_once(client, late, "failed")

    assert ended.status_code == "KILL"
    assert timed_out.status_code == "TIMEOUT"


def test_a_name_that_is_nowhere_is_refused(client: Client) -> None:
    for kind, name in (("queue", "llmm"), ("queue", "coordinator"), ("task", "nothing"), ("tenant", "a b")):
        with pytest.raises(NotFoundError):
            client.pause(kind, name)  # type: ignore[arg-type]  # mypy widens the kinds to text
    with pytest.raises(NotFoundError, match="is not paused"):
        client.resume("queue", "llm")
    assert client.pauses() == []
