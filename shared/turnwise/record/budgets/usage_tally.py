"""The use of models by a run on its way into the sums of its tenant's days.

While a run works, its use is kept in its own row (`runs.uncounted`), which a turn writes anyway:

    {day: {model: [calls, unpriced calls, prompt tokens, cached tokens, completion tokens, cost as text]}}

The transaction in which the run ends, or comes to wait, adds it to `usage_days` and empties it. So each use is in one
of the two at any moment, whatever dies, and a turn writes no row that the runs of a tenant share.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import sqlalchemy as sa

from turnwise.record.database.access_schema import usage_days
from turnwise.record.database.columns import money_sum
from turnwise.record.states import RunStatus
from turnwise.record.values.records import Json, RunRecord, Usage

# Rows that the runs of a tenant, day, task and model are spread over.
_SLOTS = 16
_COUNTS = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
_NOTHING = (0, 0, 0, 0, 0, "0")


def with_usage(uncounted: Json | None, usage: Usage, now: float) -> Json:
    """Return what is to be added to the sums, `usage` of the moment `now` included."""
    days = uncounted or {}
    day, model = datetime.fromtimestamp(now, UTC).date().isoformat(), usage.model or ""
    models = days.get(day, {})
    *counts, cost = models.get(model, _NOTHING)
    unpriced = usage.calls if usage.cost is None else 0
    added = (usage.calls, unpriced, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
    sums = [old + new for old, new in zip(counts, added, strict=True)]
    return {**days, day: {**models, model: [*sums, format(Decimal(cost) + (usage.cost or 0), "f")]}}


def counted_at_rest(run: RunRecord) -> tuple[RunRecord, list[Json]]:
    """Return the run as it is to be kept, and the rows that its transaction adds to the sums: none while it works."""
    if run.uncounted is None or run.status == RunStatus.RUNNING:
        return run, []
    return run.changed(uncounted=None), usage_rows(run)


def usage_rows(run: RunRecord) -> list[Json]:
    """Return what is to be added to the sums, always in the same order, to avoid a deadlock."""
    place = {"tenant": run.tenant, "task": run.task, "slot": zlib.crc32(run.id.encode()) % _SLOTS}
    return [place | row for row in uncounted_rows(run.uncounted) if any(row[name] for name in (*_COUNTS, "cost"))]


def uncounted_rows(uncounted: Json | None) -> list[Json]:
    """Return `uncounted` of a run as rows of `usage_days`, without what says whose they are."""
    return [
        {"day": day, "model": model, "cost": Decimal(cost), **dict(zip(_COUNTS, counts, strict=True))}
        for day, models in sorted((uncounted or {}).items())
        for model, (*counts, cost) in sorted(models.items())
    ]


@cache
def add_usage(insert: Any) -> sa.Insert:
    """Adds rows to the sums that there are."""
    statement = insert(usage_days)
    kept, new = usage_days.c, statement.excluded
    changes = {name: kept[name] + new[name] for name in _COUNTS} | {"cost": money_sum(kept.cost, new.cost)}
    made: sa.Insert = statement.on_conflict_do_update(index_elements=list(usage_days.primary_key), set_=changes)
    return made
