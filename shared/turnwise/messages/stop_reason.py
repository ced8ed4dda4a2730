"""The limit that ended a run, in words and as values."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from turnwise.base.money import decimal_string
from turnwise.errors import LimitReachedError
from turnwise.messages.entity import StatusCode

# The limit behind a status; a run that ended with any other was not ended by one.
_LIMITS = {
    StatusCode.MAX_COST: "cost",
    StatusCode.MAX_TOKENS: "tokens",
    StatusCode.FIXED_TURNS: "turns",
    StatusCode.MAX_TURNS: "max_turns",
    StatusCode.TIMEOUT: "time",
    StatusCode.STALLED: "stalled_steps",
}
_FORMS = {
    "cost": "cost limit ${}",
    "tokens": "limit of {} tokens",
    "turns": "limit of {} turns",
    "max_turns": "limit of {} turns that settings.max_turns allows any task",
    "time": "time limit of {} s",
    "stalled_steps": "limit of {} steps without an answer",
}
_UNKNOWN = {
    "cost": "cost limit",
    "tokens": "token limit",
    "turns": "limit of turns",
    "max_turns": "limit of turns that settings.max_turns allows any task",
    "time": "time limit",
    "stalled_steps": "too many steps without an answer",
}


@dataclass(frozen=True, kw_only=True)
class StopReason:
    """The limit that a run ended with: see `Task.stop_reason`.

    - `limit`: "cost", "tokens", "turns" (those that `run` was given), "max_turns" (those of `settings`), "time" or
      "stalled_steps".
    - `value`: what the limit is: USD as a `Decimal`, tokens, turns, seconds or steps; None if it is not known.
    - `used`: what the run had used of it, for cost and tokens; calls without a known price cost nothing.
    - `why`: what the limit did not let through, such as a call of a model without a known price; may be empty.
    - `scope`: whose limit it is: "run", "batch", "session", "tenant_day" or "tenant_month".

    As text it is one line: `stopped: cost limit $0.05, $0.0312 used; ...`.
    """

    limit: str
    value: Decimal | float | None = None
    used: Decimal | float | None = None
    why: str = ""
    scope: str = "run"

    def __str__(self) -> str:
        text = _UNKNOWN[self.limit] if self.value is None else _FORMS[self.limit].format(_plain(self.value))
        if self.scope != "run":
            text = f"the {self.scope.replace('_', chr(39) + 's ')}'s {text}"
        if self.used is not None:
            text += f", {'$' if self.limit == 'cost' else ''}{_plain(self.used)} used"
        return f"stopped: {text}; {self.why}" if self.why else f"stopped: {text}"

    def as_json(self) -> dict[str, Any]:
        """Return it as the API shows it: money as text; `message` is the whole line."""
        values = {name: _json(value) for name, value in (("value", self.value), ("used", self.used))}
        return {"limit": self.limit, "scope": self.scope, **values, "why": self.why or None, "message": str(self)}


def limit_of(status: StatusCode | str | None) -> str | None:
    """The limit behind a task's status; None for a status that no limit leads to."""
    return _LIMITS.get(StatusCode(status)) if status is not None else None


def by_refusal(refused: LimitReachedError) -> StopReason:
    """The reason of a run whose call was refused."""
    return StopReason(limit=refused.limit, value=refused.value, used=refused.used, why=refused.why, scope=refused.scope)


def _plain(value: Decimal | float) -> str:
    if isinstance(value, Decimal):
        return decimal_string(value.normalize())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _json(value: Decimal | float | None) -> str | float | None:
    return decimal_string(value) if isinstance(value, Decimal) else value
