"""Log lines of what was committed: an event of the record that matters to an operator is a line, too.

They are written here and nowhere else, after the commit, by the process that made it. So nothing of this kind happens
to a run without a line, whoever did it, and a transaction that was rolled back has none. A store writes them itself
unless whoever opened it has observers that do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turnwise.base.json_value import Json, given
from turnwise.base.waits import BudgetWait, OutageWait, RetryWait, wait_of
from turnwise.observability.log_events import CATALOGUE
from turnwise.record.events.event import OF_RUN, EventPlace
from turnwise.record.states import RunStatus
from turnwise.record.values.records import RunRecord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """An event that was written, as far as its line needs it."""

    type: str
    place: EventPlace
    data: Json


# A line's action, its sentence with one place for the run's id, and its fields.
_Line = tuple[str, str, Json]


def tell(run: RunRecord, news: Sequence[News]) -> None:
    """Write the lines of a transaction over `run`, as it is now."""
    for item in news:
        action, sentence, fields = _LINES[item.type](run, item)
        event = CATALOGUE[action]
        if logger.isEnabledFor(event.level):
            extra = {"action": action, "run": run.id, "task": run.task, "tenant": run.tenant} | fields
            place = item.place
            if place.ask_id is not None:
                extra["ask"] = place.ask_id
            if place.path is not None and place.path != run.task:
                extra["path"] = place.path
            logger.log(event.level, sentence, run.id, extra=extra)


def accepted(forked_from: str | None = None) -> News:
    """The news of a new run; its first event is not made in a transaction over it."""
    return News("run.accepted", OF_RUN, {"forked_from": forked_from})


def _accepted(run: RunRecord, item: News) -> _Line:
    return (
        "run_accepted",
        "Run %s is accepted",
        given(session=run.session_id, forked_from=item.data.get("forked_from")),
    )


def _ended(run: RunRecord, _item: News) -> _Line:
    seconds = round(run.finished_at - run.created_at, 3) if run.finished_at is not None else None
    fields = given(status=run.status, why=run.status_code, seconds=seconds, calls=run.calls, cost=str(run.cost))
    if run.status == RunStatus.FAILED:
        return "run_failed", "Run %s failed", fields | given(error=_text(run.error and run.error.as_json()))
    return "run_ended", f"Run %s is {run.status}", fields


def _retried(_run: RunRecord, _item: News) -> _Line:
    return "run_retried", "Run %s is retried", {}


def _limited(_run: RunRecord, item: News) -> _Line:
    fields = given(limit=item.data.get("limit"), scope=item.data.get("scope"), waits=False)
    return "limit_reached", "Run %s has reached a limit, and ends", fields


def _deferred(_run: RunRecord, item: News) -> _Line:
    wait = wait_of(item.data.get("waiting_for"))
    if isinstance(wait, BudgetWait):
        fields = given(limit=wait.limit, scope=wait.scope, waits=True)
        return "limit_reached", "Run %s has reached a limit, and waits", fields
    if isinstance(wait, RetryWait | OutageWait) and item.data.get("error") is not None:
        error = _text(item.data.get("error"))
        fields = given(attempt=item.data.get("attempt"), wait=item.data.get("wait"), error=error)
        return "call_retried", "A call of run %s failed, and is tried again", fields
    return "ask_deferred", "An ask of run %s is deferred", given(waits_for=wait.kind if wait is not None else None)


def _released(_run: RunRecord, item: News) -> _Line:
    return "ask_released", "An ask of run %s is released", given(reason=item.data.get("reason"))


def _parked(_run: RunRecord, item: News) -> _Line:
    fields = given(reason=item.data.get("reason"), tool=item.data.get("tool"), error=_text(item.data.get("error")))
    return "ask_parked", "An ask of run %s is parked until a person decides", fields


def _resolved(_run: RunRecord, item: News) -> _Line:
    return "ask_resolved", "A parked ask of run %s is resolved", given(outcome=item.data.get("outcome"))


def _expired(_run: RunRecord, item: News) -> _Line:
    fields = given(**{name: item.data.get(name) for name in ("worker", "attempt", "parked")})
    return "lease_taken_over", "The worker of an ask of run %s was lost", fields


def _text(error: object) -> str | None:
    """Return an error in one line; it is told after the commit, so no form of it may fail."""
    if isinstance(error, dict):
        return f"{error.get('type', 'Error')}: {error.get('message', '')}"
    return str(error) if error else None


_LINES: dict[str, Callable[[RunRecord, News], _Line]] = {
    "run.accepted": _accepted,
    "run.completed": _ended,
    "run.failed": _ended,
    "run.cancelled": _ended,
    "run.retried": _retried,
    "limit.reached": _limited,
    "ask.deferred": _deferred,
    "ask.released": _released,
    "ask.parked": _parked,
    "ask.resolved": _resolved,
    "ask.expired": _expired,
}
TOLD = frozenset(_LINES)
