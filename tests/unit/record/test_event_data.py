"""The data of events: the JSON that is kept, to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnwise.record.runs.event_data import (
    AskExpired,
    AskReleased,
    AskResolved,
    AttemptData,
    RunAccepted,
    RunEnded,
    RunForked,
    RunRetried,
)

_ATTEMPT = AttemptData(worker="wkr_1", attempt=2, claimed_at=1.5)
# As earlier versions wrote them.
_KEPT: list[tuple[Any, str]] = [
    (RunAccepted(task="desk", version="1"), '{"task":"desk","version":"1"}'),
    (RunForked(run="run_1", at=4, version="1", model=None), '{"run":"run_1","at":4,"version":"1"}'),
    (RunForked(run="run_1", at=4, version="1", model="m"), '{"run":"run_1","at":4,"version":"1","model":"m"}'),
    (RunRetried(to=3, again=True, error=None), '{"to":3,"again":true,"error":null}'),
    (RunEnded(status="KILL"), '{"status":"KILL"}'),
    (RunEnded(status="DONE", document="doc_1"), '{"status":"DONE","document":"doc_1"}'),
    (RunEnded(status="ERROR", error={}), '{"status":"ERROR","error":{}}'),
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
]


@pytest.mark.parametrize(("data", "text"), _KEPT)
def test_the_data_of_an_event_is_kept_in_these_bytes(data: Any, text: str) -> None:
    assert json.dumps(data.as_json(), separators=(",", ":")) == text
