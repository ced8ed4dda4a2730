"""The log lines of a run's life, and the context of all lines that are written meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from structlog.contextvars import bound_contextvars

from turnwise.record.runs import journal
from turnwise.record.runs.journal import News
from turnwise.record.runs.records import Claim, RunRecord
from turnwise.serving.observer import Observer


class LogLines(Observer):
    """Writes a line for each event that an operator is told of; names the run in all lines of a move or an attempt."""

    def around_move(self, run_id: str) -> AbstractContextManager[object]:
        """Name the run."""
        return bound_contextvars(run=run_id)

    def around_attempt(self, claim: Claim) -> AbstractContextManager[object]:
        """Name the run, its task and tenant, and the ask."""
        run = claim.run
        return bound_contextvars(run=run.id, task=run.task, tenant=run.tenant, ask=claim.ask.id)

    def events_stored(self, run: RunRecord, news: Sequence[News]) -> None:
        """Write the lines."""
        journal.tell(run, news)
