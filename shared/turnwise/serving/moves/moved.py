"""The consequences of a move that was made."""

from __future__ import annotations

from typing import NamedTuple

from turnwise.bus.envelope import AskEnvelope
from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.machine.actions import Trace
from turnwise.record.transaction.session_queue import RunInLine
from turnwise.record.values.records import Claim, RunRecord


class Moved(NamedTuple):
    """The consequences of a committed move: the ask to publish, the run as it is now, the events to tell.

    `claim` is the ask instead, if whoever made the move holds it already.
    `began` and `ended`: it was this move that did. `next_run` is the run of its session that waited for that. `at` is
    the time of the move by the database's clock, `late` the seconds that it was due before then (None if no move was
    due), and `queue` that of the ask whose answer was moved on: the coordinators' own where there was none.
    """

    run: RunRecord
    ask: AskEnvelope | None = None
    claim: Claim | None = None
    trace: tuple[Trace, ...] = ()
    began: bool = False
    ended: bool = False
    next_run: RunInLine | None = None
    at: float = 0.0
    late: float | None = None
    queue: str = COORDINATOR_QUEUE
