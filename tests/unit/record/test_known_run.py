from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from turnwise.base.clock import Clock
from turnwise.record.transaction.agent_book import AgentBook
from turnwise.record.transaction.run_lock import RunLock
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.records import AgentRecord


class _Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at


def test_the_time_never_goes_back_when_it_is_read_again() -> None:
    hand = _Hand()
    clock = cast(Clock, hand)
    known = KnownRun(run=cast(Any, None), time=5.0, read_at=hand.at)
    hand.at = 103.0
    assert known.now(clock) == 8.0

    known.time, known.read_at = 7.9, hand.at  # the database's answer took a tenth of a second longer this time

    assert known.now(clock) == 8.0
    hand.at = 103.5
    assert known.now(clock) == pytest.approx(8.4)


def test_no_agent_is_looked_up_of_a_run_that_has_none_yet() -> None:
    def read() -> NoReturn:
        raise AssertionError("there is nothing to read")

    run = cast(Any, SimpleNamespace(id="run-1"))
    known = KnownRun(run=run, time=0.0, read_at=0.0, has_all_agents=True)
    book = AgentBook(RunLock(take=read), run, known, cast(Any, None), cast(Any, None))

    assert book.get("main") == AgentRecord(key="main")
