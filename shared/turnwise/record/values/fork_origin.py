"""The value of a run's `forked_from`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnwise.base.json_value import Json, JsonValue, unknown_keys


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkOrigin(JsonValue):
    """The run that a fork was made of, and the event `at` which it was."""

    run: str
    at: int
    # Keys that this version does not know: a newer one has written them, and they are kept.
    rest: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> Json:
        """The value as it is kept."""
        return {"run": self.run, "at": self.at, **self.rest}


def fork_origin(found: Mapping[str, Any] | None) -> ForkOrigin | None:
    """Read a value as it is kept."""
    if found is None:
        return None
    return ForkOrigin(run=found["run"], at=found["at"], rest=unknown_keys(found, ("run", "at")))
