"""Plays a scenario over HTTP, wherever it is served."""

from __future__ import annotations

from typing import Any

from tests.e2e.scenarios import Scenario
from tests.e2e.transcript import Transcript, from_events
from tests.e2e.waiting import until
from tests.support.client_views import numbered

from turnwise.api.runs import RunWithTree
from turnwise.cli.text.messages import as_json
from turnwise.client import Client

Json = dict[str, Any]


def submit(client: Client, scenario: Scenario, session: str | None = None) -> str:
    """Start a run; its id."""
    run = client.submit(
        scenario.task, scenario.message, turns=scenario.turns, max_tokens=scenario.max_tokens, session_id=session
    )
    return str(run.id)


def follow(client: Client, run_id: str, answers: tuple[str, ...] = ()) -> list[Json]:
    """All events of a run, whose questions are answered in turn as they come; the numbers must have no gap."""
    left = list(answers)
    events = []
    for event in numbered(client.events(run_id)):
        events.append(event)
        if event.type == "human.asked" and left:
            client.answer(run_id, left.pop(0), question=event.ask)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert not left, f"the run never asked for {left}"
    return [as_json(event) for event in events]


def play(client: Client, scenario: Scenario) -> Transcript:
    """Submit it, answer its questions, and read the transcript from its events."""
    return finish(client, submit(client, scenario), scenario)


def finish(client: Client, run_id: str, scenario: Scenario) -> Transcript:
    """The transcript of a run that was submitted, once it has ended."""
    events = follow(client, run_id, scenario.answers)
    run = client.run(run_id)
    assert (run.status, run.waiting_for, run.tree) == (scenario.status, None, None)
    assert run.last_event == len(events)
    return from_events(events, as_json(run))


def status_once(client: Client, run_id: str, *statuses: str) -> RunWithTree:
    """The run once it has one of these statuses."""

    def look() -> RunWithTree | None:
        run = client.run(run_id)
        return run if run.status in statuses else None

    return until(look, f"{run_id} to be {' or '.join(statuses)}")
