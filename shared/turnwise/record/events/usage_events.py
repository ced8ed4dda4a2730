"""The data of events about money and tokens: reservations, what was used, limits that ended a run.

Logs, timelines and the API read them, so the names, the order and the nulls of their JSON stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from turnwise.base.json_value import Json, given
from turnwise.base.money import decimal_string
from turnwise.record.values.kept_errors import KeptError
from turnwise.record.values.records import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageReserved:
    """Tokens and US dollars were reserved for a call of the claim; `cost` is None where no price is known."""

    type: ClassVar[str] = "usage.reserved"
    call: int
    model: str
    tokens: int
    cost: Decimal | None
    max_output_tokens: int | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        made: Json = {"call": self.call, "model": self.model, "tokens": self.tokens, "cost": decimal_string(self.cost)}
        return made | {"max_output_tokens": self.max_output_tokens}


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageSettled:
    """The usage of a reply, or of one `call`.

    `lost`: no one knows it, so it is what was reserved. `corrects` is what was counted before a call that was taken for
    lost reported after all.
    """

    type: ClassVar[str] = "usage.settled"
    usage: Usage
    call: int | None = None
    lost: bool = False
    corrects: Usage | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        corrects = settled_json(self.corrects) if self.corrects is not None else None
        return settled_json(self.usage) | given(call=self.call, lost=self.lost or None, corrects=corrects)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitReached:
    """A limit of cost or tokens ends the run; `scope` says whose it is.

    `refused`: a call was not made because of it, and its error had a `message` and the others. A call that went beyond
    its reservation tells no more than whose limit it was.
    """

    type: ClassVar[str] = "limit.reached"
    limit: str
    scope: str = "run"
    refused: bool = False
    message: str | None = None
    value: Any = None
    used: Any = None
    why: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        made: Json = {"limit": self.limit, "scope": self.scope} | ({"message": self.message} if self.refused else {})
        return made | given(value=self.value, used=self.used, why=self.why)


def limit_reached(limit: str, refusal: KeptError | None) -> LimitReached:
    """The data for a `limit`; `refusal` is the error of a call that was not made because of it."""
    if refusal is None:
        return LimitReached(limit=limit)
    return read_limit_reached({"message": None, **refusal.found, "limit": limit})


def read_limit_reached(found: Mapping[str, Any]) -> LimitReached:
    """Read the data as it is kept."""
    return LimitReached(
        limit=found.get("limit") or "",
        scope=found.get("scope", "run"),
        refused="message" in found,
        **{name: found.get(name) for name in ("message", "value", "used", "why")},
    )


def settled_json(usage: Usage) -> Json:
    """Usage as it is kept; the cost is a decimal string, or null where no price is known."""
    told: Json = {
        "model": usage.model,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "calls": usage.calls,
        "cost": decimal_string(usage.cost),
    }
    return told | given(doubt=usage.doubt or None)


def read_usage(found: Mapping[str, Any]) -> Usage:
    """Read usage as `settled_json` keeps it."""
    cost = found.get("cost")
    counts = {name: found.get(name) or 0 for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "calls")}
    return Usage(
        **counts,
        cost=None if cost is None else Decimal(cost),
        model=found.get("model"),
        doubt=found.get("doubt") or "",
    )
