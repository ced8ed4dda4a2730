"""Typed values of the record as the JSON that is kept, and events of any type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from turnwise.base.json_value import Json, JsonValue
from turnwise.record.events.event import EventPlace
from turnwise.record.transaction.run_transaction import RunTransaction


@dataclass(frozen=True)
class AnyEvent:
    """An event with this type and this data."""

    type: str
    data: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """The data."""
        return self.data


def kept(value: JsonValue | None) -> Json:
    """The value as it is kept; an empty object for none."""
    return {} if value is None else value.as_json()


def happen(transaction: RunTransaction, type: str, *, data: Json | None = None, **place: Any) -> int:
    """Write an event of any type, with its number."""
    return transaction.event(AnyEvent(type, data or {}), EventPlace(**place))
