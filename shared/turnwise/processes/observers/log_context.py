"""The run, and the ask, that the log lines of a thread are about."""

from __future__ import annotations

from contextlib import AbstractContextManager

from structlog.contextvars import bound_contextvars

from turnwise.record.runs.records import Claim
from turnwise.serving.observer import Observer


class LogContext(Observer):
    """Names the run in each line that is written during a move or an attempt."""

    def around_move(self, run_id: str) -> AbstractContextManager[object]:
        """Name the run."""
        return bound_contextvars(run=run_id)

    def around_attempt(self, claim: Claim) -> AbstractContextManager[object]:
        """Name the run, its task and tenant, and the ask."""
        run = claim.run
        return bound_contextvars(run=run.id, task=run.task, tenant=run.tenant, ask=claim.ask.id)
