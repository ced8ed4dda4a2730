"""The additions of one transaction to the sums of a tenant's use."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import sqlalchemy as sa

from turnwise.record.database.access_schema import usage_days
from turnwise.record.database.columns import money_sum
from turnwise.record.runs.records import Json, RunRecord, Usage

# Rows that the runs of a tenant, day, task and model are spread over.
_SLOTS = 16
_COUNTS = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")


class UsageTally:
    """Gathers the use of a locked run, by model."""

    def __init__(self) -> None:
        self._of_models: dict[str, Json] = {}

    def add(self, usage: Usage) -> None:
        """Count what calls of a model have used."""
        sums = self._of_models.setdefault(usage.model or "", {**dict.fromkeys(_COUNTS, 0), "cost": Decimal(0)})
        sums["calls"] += usage.calls
        sums["unpriced_calls"] += usage.calls if usage.cost is None else 0
        sums["prompt_tokens"] += usage.prompt_tokens
        sums["cached_tokens"] += usage.cached_tokens
        sums["completion_tokens"] += usage.completion_tokens
        sums["cost"] += usage.cost or 0

    def rows(self, run: RunRecord, now: float) -> list[Json]:
        """Return what is to be added to the sums of the day, always in the same order, to avoid a deadlock."""
        if not self._of_models:
            return []
        place = {
            "tenant": run.tenant,
            "day": datetime.fromtimestamp(now, UTC).date().isoformat(),
            "task": run.task,
            "slot": zlib.crc32(run.id.encode()) % _SLOTS,
        }
        return [
            place | {"model": model} | sums for model, sums in sorted(self._of_models.items()) if any(sums.values())
        ]


@cache
def add_usage(insert: Any) -> sa.Insert:
    """Adds rows of a tally to the sums that there are."""
    statement = insert(usage_days)
    kept, new = usage_days.c, statement.excluded
    changes = {name: kept[name] + new[name] for name in _COUNTS} | {"cost": money_sum(kept.cost, new.cost)}
    made: sa.Insert = statement.on_conflict_do_update(index_elements=list(usage_days.primary_key), set_=changes)
    return made
