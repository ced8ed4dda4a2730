"""The waits of a run: the JSON that is kept, to the letter, and what is read of it."""

from __future__ import annotations

import json

import pytest

from turnwise.base.waits import (
    BudgetWait,
    HumanWait,
    OutageWait,
    ParkedWait,
    PauseWait,
    ProviderLimitWait,
    ResponderWait,
    RetryWait,
    RunWait,
    SessionWait,
    UnknownWait,
    wait_of,
)

_ERROR = {"type": "ModelUnavailableError", "code": "model_unavailable", "message": "502"}
# As earlier versions wrote them: the record and the API have these bytes.
_KEPT: list[tuple[RunWait, str]] = [
    (ResponderWait(responder="llm", agent="desk", queue="llm"), '{"kind":"llm","agent":"desk","queue":"llm"}'),
    (ResponderWait(responder="agent", agent="desk", queue="a"), '{"kind":"agent","agent":"desk","queue":"a"}'),
    (HumanWait(question="ask_1", task="desk/sub"), '{"kind":"human","question":"ask_1","task":"desk/sub"}'),
    (SessionWait(run="run_1"), '{"kind":"session","run":"run_1"}'),
    (PauseWait(scope="task", name="desk"), '{"kind":"paused","scope":"task","name":"desk"}'),
    (
        ParkedWait(ask="ask_1", agent="desk", reason="worker_lost", tool="pay"),
        '{"kind":"parked","ask":"ask_1","agent":"desk","reason":"worker_lost","tool":"pay"}',
    ),
    (
        ParkedWait(ask="ask_1", agent="desk", reason="attempts_exhausted"),
        '{"kind":"parked","ask":"ask_1","agent":"desk","reason":"attempts_exhausted"}',
    ),
    (BudgetWait(scope="run", limit="cost"), '{"kind":"budget","scope":"run","limit":"cost"}'),
    (
        BudgetWait(scope="run", limit="cost", due_at=5.5),
        '{"kind":"budget","scope":"run","limit":"cost","due_at":5.5}',
    ),
    (ProviderLimitWait(model="m", limit="requests"), '{"kind":"provider","model":"m","limit":"requests"}'),
    (
        RetryWait(agent="desk", error=_ERROR, attempt=2),
        '{"kind":"retry","agent":"desk","error":{"type":"ModelUnavailableError","code":"model_unavailable",'
        '"message":"502"},"attempt":2}',
    ),
    (OutageWait(model="m", server="s"), '{"kind":"outage","model":"m","server":"s"}'),
    (
        OutageWait(agent="desk", error={"message": "502"}, attempt=1, model=None),
        '{"kind":"outage","agent":"desk","error":{"message":"502"},"attempt":1,"model":null}',
    ),
]


@pytest.mark.parametrize(("wait", "text"), _KEPT)
def test_a_wait_is_kept_in_these_bytes_and_read_again(wait: RunWait, text: str) -> None:
    assert json.dumps(wait.as_json(), separators=(",", ":")) == text
    assert wait_of(json.loads(text)) == wait


def test_a_wait_of_another_version_is_read_as_far_as_it_is_known() -> None:
    newer = {"kind": "human", "question": "ask_1", "task": "", "more": 1}
    found = wait_of(newer)
    assert found == HumanWait(question="ask_1", task="", rest={"more": 1})
    assert found.as_json() == newer
    unknown = wait_of({"kind": "weather", "place": "sea"})
    assert isinstance(unknown, UnknownWait)
    assert unknown.kind == "weather"
    assert unknown.as_json() == {"kind": "weather", "place": "sea"}


def test_nothing_is_no_wait() -> None:
    assert wait_of(None) is None
    assert wait_of({}) is None
