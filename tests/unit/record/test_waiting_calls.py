"""Notes of calls that wait for a provider in their workers."""

from __future__ import annotations

import pytest

from turnwise.record.budgets.waiting_calls import WaitingCall, dump, load


def waiting(until: float) -> WaitingCall:
    return WaitingCall("run", "ask", priority=0, created_at=1.0, tokens=10, until=until)


def test_a_note_lapses_if_its_worker_does_not_look_again() -> None:
    kept, lapsed = waiting(12.0), waiting(10.0)
    assert load(dump([kept, lapsed]), now=10.0) == (kept,)


@pytest.mark.parametrize("body", [None, dump([])])
def test_without_notes_there_is_nothing_to_keep(body: None) -> None:
    assert body is None
    assert load(body, now=10.0) == ()
