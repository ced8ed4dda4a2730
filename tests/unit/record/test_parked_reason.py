"""The reason of a parked ask: the JSON that is kept, to the letter, and what is read of it."""

from __future__ import annotations

import json

import pytest

from turnwise.record.asks.parked_reason import LastHolder, ParkedReason, parked_reason
from turnwise.record.values.kept_errors import KeptError

# As earlier versions wrote them.
_KEPT: list[tuple[ParkedReason, str]] = [
    (
        ParkedReason(
            reason="attempts_exhausted", attempts=5, is_held=True, was_lost=True, worker=LastHolder(id="wkr_1")
        ),
        '{"worker":{"id":"wkr_1"},"began_at":null,"reason":"attempts_exhausted","attempts":5}',
    ),
    (
        ParkedReason(
            reason="unknown_outcome",
            attempts=1,
            call=2,
            tool="pay",
            idempotency_key="k",
            is_held=True,
            worker=LastHolder(id="wkr_1", host="here", pid=7),
            began_at=2.5,
            error=KeptError(found={"message": "no"}),
            outcome="again",
            resolved_at=3.5,
        ),
        '{"reason":"unknown_outcome","attempts":1,"call":2,"tool":"pay","arguments":null,"idempotency_key":"k",'
        '"worker":{"id":"wkr_1","host":"here","pid":7},"began_at":2.5,"error":{"message":"no"},"outcome":"again",'
        '"resolved_at":3.5}',
    ),
    (
        ParkedReason(reason="unknown_outcome", attempts=1, call=1),
        '{"reason":"unknown_outcome","attempts":1,"call":1}',
    ),
]


@pytest.mark.parametrize(("why", "text"), _KEPT)
def test_why_an_ask_is_parked_is_kept_in_these_bytes_and_read_again(why: ParkedReason, text: str) -> None:
    assert json.dumps(why.as_json(), separators=(",", ":")) == text
    assert parked_reason(json.loads(text)) == why


def test_events_tell_the_reason_the_tool_and_the_error() -> None:
    assert _KEPT[1][0].shown() == {"reason": "unknown_outcome", "tool": "pay", "error": {"message": "no"}}
    assert _KEPT[2][0].shown() == {"reason": "unknown_outcome"}
