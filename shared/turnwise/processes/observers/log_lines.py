"""The log lines of a run's life, and the context of all lines that are written meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager

from turnwise.base.contextual import Bound
from turnwise.base.json_value import given
from turnwise.observability.logs import ABOUT
from turnwise.record.schedules.firing import Fired
from turnwise.record.schedules.schedule import TickOutcome
from turnwise.record.transaction import journal
from turnwise.record.transaction.journal import News
from turnwise.record.values.records import Claim, RunRecord
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)


class LogLines(Observer):
    """Writes a line for each event that an operator is told of; names the run in all lines of a move or an attempt."""

    def around_move(self, run_id: str) -> AbstractContextManager[object]:
        """Name the run."""
        return Bound(ABOUT, {**ABOUT.get(), "run": run_id})

    def around_attempt(self, claim: Claim) -> AbstractContextManager[object]:
        """Name the run, its task and tenant, and the ask."""
        run = claim.run
        about = {"run": run.id, "task": run.task, "tenant": run.tenant, "ask": claim.ask.id}
        return Bound(ABOUT, {**ABOUT.get(), **about})

    def schedule_fired(self, fired: Fired) -> None:
        """Write a line for each tick, a warning for one that was refused or missed."""
        schedule = fired.schedule
        for tick in fired.ticks:
            about = {"task": schedule.task, "tenant": schedule.tenant, **given(run=tick.run_id)}
            outcome = str(tick.outcome)
            if tick.outcome in (TickOutcome.REFUSED, TickOutcome.MISSED):
                about |= given(why=tick.code, ticks=tick.ticks)
                extra = {"action": "tick_lost", "schedule": schedule.name, "outcome": outcome, **about}
                reason = tick.reason or outcome
                logger.warning("A tick of the schedule %s has no run: %s", schedule.name, reason, extra=extra)
            else:
                extra = {"action": "schedule_ticked", "schedule": schedule.name, "outcome": outcome, **about}
                logger.info("The schedule %s ticked: %s", schedule.name, outcome, extra=extra)

    def events_stored(self, run: RunRecord, news: Sequence[News]) -> None:
        """Write the lines."""
        journal.tell(run, news)
