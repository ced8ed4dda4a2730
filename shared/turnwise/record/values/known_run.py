"""The knowledge that a process keeps of a run between two transactions, so that it need not read the run again.

Whoever carries a run on keeps it, and a claim begins it with what it has read of the run. It is as of a revision of the
run's row, and never the truth: a write that builds on it has the condition that the row still has that revision. Its
size is bounded, because what it lacks can be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from turnwise.base.clock import Clock
from turnwise.record.values.frame_counts import FrameCounts
from turnwise.record.values.records import AgentRecord, AskRecord, FrameRecord, Json, ReplyRecord, RunRecord

# A move looks at the documents of its frames, the answer, and what that answers.
_MOST_DOCUMENTS = 64


@dataclass(kw_only=True, slots=True)
class KnownRun:
    """A run's row, and what was read or written of the rest, with the changes of the transaction that has it.

    A transaction takes it, and only the commit gives it back: after a failure no one knows what of it is on record.
    `time` is that of the database, read when the process's clock was at `read_at`.
    """

    run: RunRecord
    time: float
    read_at: float
    # The whole stack; None if it was not read.
    frames: dict[int, FrameRecord] | None = None
    documents: dict[str, Json] = field(default_factory=dict)
    asks: dict[str, tuple[AskRecord, ReplyRecord | None]] = field(default_factory=dict)
    agents: dict[str, AgentRecord] = field(default_factory=dict)
    # The database has no agent of the run that is not in `agents`.
    has_all_agents: bool = False
    # Where the history rows end that the database has, by agent.
    stored: dict[str, int] = field(default_factory=dict)
    # Of frames whose counts are all known.
    counts: dict[int, FrameCounts] = field(default_factory=dict)
    # Frames with more counts than are kept here.
    too_many: set[int] = field(default_factory=set)
    # Its holder writes more than one reply, so it pays to read more than this one needs.
    is_carried: bool = False
    _is_taken: bool = False
    _told: float = 0.0

    def take(self) -> bool:
        """Take it for a transaction; return False if another has it, or one that failed had it."""
        if self._is_taken:
            return False
        self._is_taken = True
        return True

    def give_back(self, run: RunRecord, asked: list[AskRecord]) -> None:
        """Take in the end of a transaction that is committed: the run as it is now, and the asks that it wrote."""
        self.run = run
        self.is_carried = any(ask.worker_id is not None for ask in asked) or self.is_carried
        self.asks = {ask_id: known for ask_id, known in self.asks.items() if ask_id == run.awaiting}
        self.asks |= {ask.id: (ask, None) for ask in asked}
        for key, agent in self.agents.items():
            self.stored[key] = agent.history_len
        while len(self.documents) > _MOST_DOCUMENTS:
            del self.documents[next(iter(self.documents))]
        self._is_taken = False

    def now(self, clock: Clock) -> float:
        """Return the database's time as far as the process can tell: never later, and never before an earlier answer.

        It is read late by as long as the database's answer took, and that differs from time to time.
        """
        self._told = max(self._told, self.time + clock.monotonic() - self.read_at)
        return self._told
