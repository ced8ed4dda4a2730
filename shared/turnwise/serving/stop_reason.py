"""The limit that a served run ended with, from its row and its event `limit.reached`."""

from __future__ import annotations

from decimal import Decimal

from turnwise.messages.stop_reason import StopReason, limit_of
from turnwise.record.events.usage_events import LimitReached
from turnwise.record.runs.wait_facts import Situation


def stop_reason(now: Situation) -> StopReason | None:
    """The limit that a run ended with; None if it has not ended, or not with a limit.

    What the event tells stands above the run's own limits, because it may be the limit of a session or a tenant.
    """
    run = now.run
    limit = limit_of(run.status_code) if run.ended else None
    if limit is None or (limit == "turns" and not run.turns):  # a task of a single round has come to its own end
        return None
    told = now.limit_reached or LimitReached(limit=limit)
    # A retry begins the deadline anew.
    begun_at = run.created_at if now.retried_at is None else now.retried_at
    seconds = None if run.deadline_at is None else round(run.deadline_at - begun_at, 3)
    own: dict[str, tuple[Decimal | float | None, Decimal | float | None]] = {
        "cost": (run.max_cost, run.cost),
        "tokens": (run.max_tokens, run.prompt_tokens + run.completion_tokens),
        "turns": (run.turns, None),
        "max_turns": (run.max_turns, None),
        "time": (seconds, None),
    }
    value, used = own.get(limit, (None, None))
    if told.scope != "run":
        value, used = None, None
    as_number = Decimal if limit == "cost" else int
    if told.value is not None:
        value = as_number(told.value)
    if told.used is not None:
        used = as_number(told.used)
    return StopReason(limit=limit, value=value, used=used, why=told.why or "", scope=told.scope)
