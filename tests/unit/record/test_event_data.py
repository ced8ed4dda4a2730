"""The data of events: the JSON that is kept, to the letter."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter

from turnwise.api.details import EventDetail
from turnwise.base.waits import BudgetWait, RetryWait, SessionWait
from turnwise.record.asks.parked_reason import ParkedReason
from turnwise.record.events import ask_events, run_events, usage_events
from turnwise.record.events.ask_events import (
    AskDeferred,
    AskExpired,
    AskParked,
    AskReleased,
    AskResolved,
    AttemptData,
    HumanAnswered,
    HumanAsked,
    TurnAsked,
    TurnReplied,
)
from turnwise.record.events.run_events import (
    LimitsChanged,
    RunAccepted,
    RunEnded,
    RunForked,
    RunRetried,
    TaskFinished,
    TaskStarted,
    TurnNone,
    TurnRejected,
    TurnTaken,
)
from turnwise.record.events.usage_events import (
    LimitReached,
    UsageReserved,
    UsageSettled,
    limit_reached,
    read_limit_reached,
)
from turnwise.record.states import RunStatus
from turnwise.record.values.kept_errors import CodedError, KeptError
from turnwise.record.values.outcomes import FailedCall
from turnwise.record.values.records import Usage

_ATTEMPT = AttemptData(worker="wkr_1", attempt=2, claimed_at=1.5)
_USAGE = Usage(prompt_tokens=3, completion_tokens=2, cost=Decimal("0.5"), model="m", doubt="none told")
_USED = (
    '"model":"m","prompt_tokens":3,"cached_tokens":0,"completion_tokens":2,"calls":1,"cost":"0.5","doubt":"none told"'
)
# As earlier versions wrote them.
_KEPT: list[tuple[Any, str]] = [
    (RunAccepted(task="desk", version="1"), '{"task":"desk","version":"1"}'),
    (RunForked(run="run_1", at=4, version="1", model=None), '{"run":"run_1","at":4,"version":"1"}'),
    (RunForked(run="run_1", at=4, version="1", model="m"), '{"run":"run_1","at":4,"version":"1","model":"m"}'),
    (RunRetried(to=3, again=True, error=None), '{"to":3,"again":true,"error":null}'),
    (RunEnded(ended=RunStatus.CANCELLED, status="KILL"), '{"status":"KILL"}'),
    (RunEnded(ended=RunStatus.COMPLETED, status="DONE", document="doc_1"), '{"status":"DONE","document":"doc_1"}'),
    (RunEnded(ended=RunStatus.FAILED, status="ERROR", error=KeptError(found={})), '{"status":"ERROR","error":{}}'),
    (_ATTEMPT, '{"worker":"wkr_1","attempt":2,"claimed_at":1.5}'),
    (
        AskReleased(reason="drained", attempt=AttemptData(worker=None, attempt=1, claimed_at=None, work={"a": 1})),
        '{"reason":"drained","worker":null,"attempt":1,"claimed_at":null,"work":{"a":1}}',
    ),
    (
        AskExpired(attempt=_ATTEMPT, host="here", pid=7, parked=False),
        '{"worker":"wkr_1","attempt":2,"claimed_at":1.5,"host":"here","pid":7,"parked":false}',
    ),
    (
        AskExpired(attempt=_ATTEMPT, host=None, pid=None, parked=True),
        '{"worker":"wkr_1","attempt":2,"claimed_at":1.5,"parked":true}',
    ),
    (AskResolved(outcome="fail", reason="r", tool="pay"), '{"outcome":"fail","reason":"r","tool":"pay"}'),
    (AskResolved(outcome="again", reason="r", tool=None), '{"outcome":"again","reason":"r"}'),
    (TaskStarted(document="doc_1", responder="User"), '{"document":"doc_1","responder":"User"}'),
    (TaskStarted(waited_for=SessionWait(run="run_1")), '{"waited_for":{"kind":"session","run":"run_1"}}'),
    (TaskFinished(document="doc_1", status="DONE"), '{"document":"doc_1","status":"DONE"}'),
    (TaskFinished(), '{"status":null}'),
    (TurnTaken(document="doc_1", responder="LLM"), '{"document":"doc_1","responder":"LLM"}'),
    (TurnTaken(document="d", responder="LLM", passed=True), '{"document":"d","responder":"LLM","passed":true}'),
    (TurnTaken(document="d", responder="User", null=True), '{"document":"d","responder":"User","null":true}'),
    (TurnRejected(document="doc_1", responder="Agent"), '{"document":"doc_1","responder":"Agent"}'),
    (TurnNone(), "{}"),
    (
        TurnAsked(responder="LLM", queue="llm", document="doc_1", version="2"),
        '{"responder":"LLM","document":"doc_1","version":"2","queue":"llm"}',
    ),
    (TurnAsked(responder="LLM", queue=None), '{"responder":"LLM","queue":null}'),
    (HumanAsked(responder="User", document="doc_1"), '{"responder":"User","document":"doc_1"}'),
    (HumanAnswered(), "{}"),
    (HumanAnswered(document="doc_1"), '{"document":"doc_1"}'),
    (
        TurnReplied(
            responder="agent", kind="answer", document="d", attempt=_ATTEMPT, tools=("pay", "tell"), version="2"
        ),
        '{"responder":"agent","kind":"answer","document":"d","worker":"wkr_1","attempt":2,"claimed_at":1.5,'
        '"tools":["pay","tell"],"version":"2"}',
    ),
    (
        TurnReplied(responder="llm", kind="error", error=CodedError(code="c", message="m")),
        '{"responder":"llm","kind":"error","error":{"code":"c","message":"m"}}',
    ),
    (
        AskDeferred(waiting_for=BudgetWait(scope="run", limit="cost", due_at=2.5), attempt=_ATTEMPT),
        '{"waiting_for":{"kind":"budget","scope":"run","limit":"cost","due_at":2.5},"worker":"wkr_1","attempt":2,'
        '"claimed_at":1.5}',
    ),
    (
        AskDeferred(
            waiting_for=RetryWait(agent="desk", attempt=3, due_at=2.5),
            attempt=_ATTEMPT,
            failed=FailedCall(error=CodedError(code="c", message="m"), attempt=3, wait=0.5),
        ),
        '{"waiting_for":{"kind":"retry","agent":"desk","attempt":3,"due_at":2.5},"worker":"wkr_1","attempt":3,'
        '"claimed_at":1.5,"error":{"code":"c","message":"m"},"wait":0.5}',
    ),
    (AskParked(why=ParkedReason(reason="r", attempts=1, tool="pay")), '{"reason":"r","tool":"pay"}'),
    (
        AskParked(why=ParkedReason(reason="r", attempts=1), attempt=_ATTEMPT),
        '{"reason":"r","worker":"wkr_1","attempt":2,"claimed_at":1.5}',
    ),
    (
        UsageReserved(call=1, model="m", tokens=7, cost=Decimal("0.10"), max_output_tokens=None),
        '{"call":1,"model":"m","tokens":7,"cost":"0.10","max_output_tokens":null}',
    ),
    (UsageSettled(usage=_USAGE), f"{{{_USED}}}"),
    (UsageSettled(usage=_USAGE, call=2, lost=True), f'{{{_USED},"call":2,"lost":true}}'),
    (UsageSettled(usage=_USAGE, call=2, corrects=_USAGE), f'{{{_USED},"call":2,"corrects":{{{_USED}}}}}'),
    (limit_reached("cost", None), '{"limit":"cost","scope":"run"}'),
    (
        limit_reached("cost", KeptError(found={"limit": "cost", "scope": "session", "message": "no"})),
        '{"limit":"cost","scope":"session","message":"no"}',
    ),
    (
        limit_reached("tokens", KeptError(found={"value": 5, "used": None, "why": "w"})),
        '{"limit":"tokens","scope":"run","message":null,"value":5,"why":"w"}',
    ),
    (LimitsChanged(max_cost=Decimal("2.50")), '{"max_cost":"2.50"}'),
    (LimitsChanged(max_tokens=9), '{"max_tokens":9}'),
]


@pytest.mark.parametrize(("data", "text"), _KEPT)
def test_the_data_of_an_event_is_kept_in_these_bytes(data: Any, text: str) -> None:
    assert json.dumps(data.as_json(), separators=(",", ":")) == text


def test_every_type_of_event_has_its_data_here() -> None:
    events = {type(data) for data, _ in _KEPT if hasattr(data, "type")}
    declared = {
        found
        for module in (run_events, ask_events, usage_events)
        for found in vars(module).values()
        if isinstance(found, type) and found.__module__ == module.__name__ and hasattr(found, "type")
    }

    assert events == declared


@pytest.mark.parametrize("data", [data for data, _ in _KEPT])
def test_the_data_has_the_fields_that_the_api_describes(data: Any) -> None:
    found = data.as_json()
    told = {"document_id" if name == "document" else name: value for name, value in found.items()}

    assert set(told) <= set(EventDetail.__annotations__)
    assert TypeAdapter(EventDetail).validate_python(told) == told


@pytest.mark.parametrize("data", [data for data, _ in _KEPT if isinstance(data, LimitReached)])
def test_the_data_of_a_limit_is_read_again(data: LimitReached) -> None:
    assert read_limit_reached(data.as_json()) == data
