"""The reasons why a run waits: each kind of cause, and its sentence."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.support.client_views import present

from turnwise.api.details import WaitingFor
from turnwise.base.waits import wait_of
from turnwise.record.asks.worker_records import WorkerRecord
from turnwise.record.runs.wait_facts import Situation
from turnwise.record.values.records import AskRecord, RunRecord
from turnwise.serving.wait_reason import why_waiting

# 2026-11-21 12:00:00 UTC
NOON = 1_795_262_400.0


def _run(**changes: Any) -> RunRecord:
    values: dict[str, Any] = dict.fromkeys(RunRecord.__dataclass_fields__) | {
        "id": "run_1",
        "task": "triage",
        "version": "7",
        "status": "running",
        "created_at": NOON - 60,
        "started_at": NOON - 59,
        "awaiting": "ask_1",
    }
    return RunRecord(**values | changes | {"waiting_for": wait_of(changes.get("waiting_for"))})


def _ask(**changes: Any) -> AskRecord:
    values: dict[str, Any] = dict.fromkeys(AskRecord.__dataclass_fields__) | {
        "run_id": "run_1",
        "id": "ask_1",
        "path": "triage",
        "agent": "triage/clerk",
        "responder": "llm",
        "queue": "llm",
        "status": "runnable",
        "attempts": 0,
        "max_attempts": 5,
        "created_at": NOON - 30,
    }
    return AskRecord(**values | changes)


def _worker(**changes: Any) -> WorkerRecord:
    values: dict[str, Any] = {
        "id": "wkr_1",
        "kind": "responders",
        "queues": ["llm", "agent"],
        "host": "node-3",
        "pid": 4711,
        "version": "7",
        "state": "alive",
        "lease_until": NOON + 4,
        "started_at": NOON - 600,
        "beat_at": NOON - 1,
    }
    return WorkerRecord(**values | changes)


COORDINATOR = _worker(id="wkr_2", kind="coordinator", queues=["coordinator"])
FLEET = (_worker(), COORDINATOR)


def _put_off(**waiting_for: Any) -> Situation:
    run = _run(status="waiting", waiting_for={"due_at": NOON + 90} | waiting_for)
    return Situation(run=run, now=NOON, ask=_ask(due_at=NOON + 90, attempts=2), fleet=FLEET)


def _in_line(due_at: float) -> Situation:
    waiting_for = {"kind": "provider", "model": "gpt-5", "limit": "requests", "due_at": due_at}
    return Situation(
        run=_run(status="waiting", waiting_for=waiting_for), now=NOON, ask=_ask(bucket="gpt-5"), fleet=FLEET
    )


QUEUED: dict[str, Any] = {"status": "queued", "started_at": None, "awaiting": None}
SESSION = QUEUED | {"waiting_for": {"kind": "session", "run": "run_0"}}
LLM = {"waiting_for": {"kind": "llm", "agent": "clerk", "queue": "llm"}}
ERROR = {"type": "APIStatusError", "code": "provider_overloaded", "message": "the provider\nis overloaded"}

# What is the case; what has to be among the facts; what the sentence has to say, and what it must not.
TABLE = [
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON, fleet=FLEET),
        {"kind": "move", "reason": "accepted", "coordinators": 1, "since": NOON - 60},
        "accepted at 2026-11-21 11:59:00 UTC; none of the coordinators has gone on yet",
        id="accepted long ago",
    ),
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON - 59, fleet=FLEET),
        {"kind": "move", "reason": "accepted", "coordinators": 1},
        "a coordinator goes on with it",
        id="just accepted",
    ),
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON, fleet=(_worker(),)),
        {"kind": "move", "reason": "accepted", "coordinators": 0},
        "no coordinator is running",
        id="accepted, and nobody there",
    ),
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON - 59, fleet=(), sweeping=True),
        {"kind": "move", "coordinators": 1},
        "a coordinator goes on with it",
        id="accepted, with a coordinator that does not sign on",
    ),
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON),
        {"kind": "move", "reason": "accepted"},
        "a coordinator has to go on",
        id="accepted, nobody looked for more",
    ),
    pytest.param(
        Situation(run=_run(**QUEUED), now=NOON, others=(COORDINATOR,), fleet=()),
        {"kind": "version", "version": "7"},
        "pinned to version 7 of the application, and no living coordinator has it",
        id="accepted, coordinators of another version",
    ),
    pytest.param(
        Situation(run=_run(**SESSION), now=NOON, before="run_0", fleet=FLEET),
        {"kind": "session", "run": "run_0"},
        "The run run_0, which is before it in its session, has to end first.",
        id="not its turn in the session",
    ),
    pytest.param(
        Situation(run=_run(**SESSION), now=NOON, fleet=FLEET),
        {"kind": "move", "reason": "turn"},
        "run before it in its session has ended",
        id="its turn has come",
    ),
    pytest.param(
        Situation(run=_run(cancel_requested_at=NOON - 1), now=NOON, ask=_ask(status="leased"), fleet=FLEET),
        {"kind": "move", "reason": "cancelled", "since": NOON - 1},
        "Somebody asked for its end at 2026-11-21 11:59:59 UTC; a coordinator goes on",
        id="cancel requested",
    ),
    pytest.param(
        Situation(run=_run(deadline_at=NOON - 1), now=NOON, ask=_ask(status="open", responder="user"), fleet=FLEET),
        {"kind": "move", "reason": "deadline"},
        "Its deadline has passed",
        id="out of time",
    ),
    pytest.param(
        Situation(run=_run(**LLM, move_due_at=NOON - 3), now=NOON, ask=_ask(status="answered"), fleet=FLEET),
        {"kind": "move", "reason": "answered", "since": NOON - 3},
        "Its last question has been answered",
        id="a move is due",
    ),
    pytest.param(
        Situation(run=_run(**LLM), now=NOON, ask=_ask(), fleet=FLEET, ahead=3),
        {"kind": "llm", "agent": "clerk", "queue": "llm", "state": "queued", "ahead": 3, "workers": 1},
        "The question to the model of clerk waits in the queue llm for a worker since 2026-11-21 11:59:30 UTC; 3 older",
        id="queued for a model",
    ),
    pytest.param(
        Situation(run=_run(), now=NOON, ask=_ask(responder="agent", queue="agent", attempts=1), fleet=FLEET, ahead=0),
        {"kind": "agent", "agent": "clerk", "queue": "agent", "state": "queued"},
        "The ask of clerk's tools waits in the queue agent for a worker since 2026-11-21 11:59:30 UTC (attempt 2 of",
        id="queued for tools, again",
    ),
    pytest.param(
        Situation(run=_run(), now=NOON, ask=_ask(queue="llm-legal"), fleet=FLEET),
        {"kind": "llm", "workers": 0},
        "no living worker serves the queue llm-legal: start `turnwise worker -Q llm-legal`",
        id="queued where nobody serves",
    ),
    pytest.param(
        Situation(run=_run(), now=NOON, ask=_ask(), fleet=(COORDINATOR,), others=(_worker(version="8"),)),
        {"kind": "version", "version": "7"},
        "no living worker of the queue llm has it",
        id="queued, workers of another version",
    ),
    pytest.param(
        Situation(
            run=_run(),
            now=NOON,
            ask=_ask(status="leased", attempts=1, claimed_at=NOON - 20),
            holder=_worker(),
            fleet=FLEET,
        ),
        {"kind": "llm", "state": "claimed", "attempt": 1, "worker": {"id": "wkr_1", "host": "node-3", "pid": 4711}},
        "Worker 4711 on node-3 is asking the model of clerk since 2026-11-21 11:59:40 UTC (attempt 1 of 5).",
        id="a model is asked",
    ),
    pytest.param(
        Situation(
            run=_run(),
            now=NOON,
            ask=_ask(status="leased", responder="agent", attempts=1, claimed_at=NOON - 20),
            holder=_worker(),
            fleet=FLEET,
        ),
        {"kind": "agent", "state": "claimed"},
        "is running the tool handlers of clerk",
        id="tools run",
    ),
    pytest.param(
        Situation(
            run=_run(),
            now=NOON,
            ask=_ask(status="leased", attempts=2, claimed_at=NOON - 20),
            holder=_worker(lease_until=NOON - 1),
            fleet=FLEET,
        ),
        {"kind": "llm", "state": "lapsed", "attempt": 2},
        "Worker 4711 on node-3 took the ask of clerk and fell silent (attempt 2 of 5); a sweep will give it",
        id="the holder's lease has lapsed",
    ),
    pytest.param(
        Situation(
            run=_run(),
            now=NOON,
            ask=_ask(status="leased", attempts=2, claimed_at=NOON - 20),
            holder=_worker(state="dead"),
            fleet=(),
        ),
        {"kind": "llm", "state": "lapsed"},
        "no coordinator is running that would give it to another",
        id="the holder is dead, and nobody sweeps",
    ),
    pytest.param(
        Situation(run=_run(), now=NOON, ask=_ask(status="leased", attempts=1, claimed_at=NOON - 20), fleet=FLEET),
        {"kind": "llm", "state": "lapsed", "worker": None},
        "A worker took the ask of clerk and fell silent",
        id="the holder is forgotten",
    ),
    pytest.param(
        Situation(
            run=_run(status="waiting", waiting_for={"kind": "human", "question": "ask_1", "task": "triage"}),
            now=NOON,
            ask=_ask(status="open", responder="user", queue=None),
            fleet=FLEET,
        ),
        {"kind": "human", "question": "ask_1", "task": "triage", "since": NOON - 30},
        "A human has to answer the question of the task triage: turnwise answer run_1 TEXT.",
        id="a human is asked",
    ),
    pytest.param(
        Situation(
            run=_run(status="waiting", waiting_for={"kind": "retry", "due_at": 1e15}),
            now=NOON,
            ask=_ask(due_at=1e15, attempts=2),
            fleet=FLEET,
        ),
        {"kind": "retry", "due_at": 1e15},
        "is tried again at 9999-12-31 23:59:59 UTC",
        id="a retry behind the last time that there is",
    ),
    pytest.param(
        _put_off(kind="retry", agent="clerk", error=ERROR, attempt=2),
        {"kind": "retry", "agent": "clerk", "error": ERROR, "attempt": 2, "due_at": NOON + 90},
        "tried again at 2026-11-21 12:01:30 UTC, after attempt 2: APIStatusError: the provider is overloaded.",
        id="put off after an error",
    ),
    pytest.param(
        _put_off(kind="outage", model="gpt-5", server="http://models", error=ERROR, attempt=2),
        {"kind": "outage", "model": "gpt-5", "server": "http://models", "error": ERROR, "due_at": NOON + 90},
        "The provider of gpt-5 at http://models does not answer (the provider is overloaded); clerk tries again at "
        "2026-11-21 12:01:30 UTC, until the run's deadline.",
        id="a provider does not answer",
    ),
    pytest.param(
        Situation(
            run=_run(status="waiting", waiting_for={"kind": "outage", "model": "gpt-5"}),
            now=NOON,
            ask=_ask(bucket="gpt-5"),
            fleet=FLEET,
        ),
        {"kind": "outage", "model": "gpt-5"},
        "clerk goes on as soon as a call of any run is answered, until the run's deadline.",
        id="in the line of a provider that does not answer",
    ),
    pytest.param(
        _put_off(kind="provider", model="gpt-5", limit="tokens"),
        {"kind": "provider", "model": "gpt-5", "limit": "tokens", "due_at": NOON + 90},
        "The provider's limit on tokens per minute of gpt-5 is used up; clerk goes on at 2026-11-21 12:01:30 UTC.",
        id="put off for a provider",
    ),
    pytest.param(
        _in_line(due_at=NOON + 30),
        {"kind": "provider", "model": "gpt-5", "limit": "requests", "due_at": NOON + 30},
        "The provider's limit on requests per minute of gpt-5 is used up; clerk goes on at 2026-11-21 12:00:30 UTC.",
        id="in a provider's line",
    ),
    pytest.param(
        _in_line(due_at=NOON - 30),
        {"kind": "provider", "model": "gpt-5", "limit": "requests"},
        "clerk is next in line, or soon",
        id="soon to come in a provider's line",
    ),
    pytest.param(
        _put_off(kind="budget", scope="tenant_day", limit="cost"),
        {"kind": "budget", "scope": "tenant_day", "limit": "cost"},
        "Too little is left of the limit on cost of its tenant today for the next call of clerk, which looks again at",
        id="put off for a budget",
    ),
    pytest.param(
        _put_off(kind="llm", agent="clerk", queue="llm"),
        {"kind": "llm", "due_at": NOON + 90},
        "is deferred until 2026-11-21 12:01:30 UTC",
        id="put off for something else",
    ),
    pytest.param(
        Situation(
            run=_run(status="waiting", waiting_for={"kind": "retry", "due_at": NOON - 1, "error": ERROR}),
            now=NOON,
            ask=_ask(due_at=NOON - 1, attempts=2),
            fleet=FLEET,
        ),
        {"kind": "llm", "state": "queued", "since": NOON - 1},
        "(attempt 3 of 5)",
        id="due again after a retry",
    ),
    pytest.param(
        Situation(
            run=_run(
                status="waiting",
                waiting_for={"kind": "parked", "ask": "ask_1", "agent": "clerk", "tool": "pay", "reason": "lost"},
            ),
            now=NOON,
            ask=_ask(status="parked", responder="agent", parked_at=NOON - 5),
            fleet=FLEET,
        ),
        {"kind": "parked", "ask": "ask_1", "agent": "clerk", "tool": "pay", "reason": "lost"},
        "A call of the tool pay by clerk is parked (lost): a person has to say how to go on, turnwise resolve ask_1.",
        id="a parked call",
    ),
]


@pytest.mark.parametrize(("now", "facts", "said"), TABLE)
def test_a_situation_has_its_cause_and_its_sentence(now: Situation, facts: dict[str, Any], said: str) -> None:
    why = why_waiting(now)

    assert why is not None
    assert {name: why.as_json()[name] for name in facts} == facts
    assert said in why.sentence
    assert why.sentence.endswith(".")
    assert "\n" not in why.sentence


@pytest.mark.parametrize("now", [case.values[0] for case in TABLE])
def test_a_cause_has_the_fields_that_the_api_describes(now: Any) -> None:
    found = present(why_waiting(now)).as_json()
    told = found | {name: "2026-11-22T00:00:00Z" for name in ("since", "due_at") if found.get(name) is not None}

    assert set(told) <= set(WaitingFor.__annotations__)
    assert TypeAdapter(WaitingFor).validate_python(told) == told


def test_what_has_ended_waits_for_nothing() -> None:
    assert why_waiting(Situation(run=_run(status="completed"), now=NOON)) is None
