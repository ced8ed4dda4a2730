"""The value of an ask's `parked`: why a person has to decide, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.base.json_value import Json, JsonValue, given
from turnwise.record.values.kept_errors import KeptError, kept_error

_CALL = ("tool", "arguments", "idempotency_key")


@dataclass(frozen=True, kw_only=True, slots=True)
class LastHolder(JsonValue):
    """The worker that had a parked ask; `host` and `pid` where they are still known."""

    id: str
    host: str | None = None
    pid: int | None = None

    def as_json(self) -> Json:
        """The value as it is kept."""
        return {"id": self.id} | given(host=self.host, pid=self.pid)


@dataclass(frozen=True, kw_only=True, slots=True)
class LostAttempt(JsonValue):
    """An attempt whose worker was lost: who had the ask since when, and when that was found."""

    worker: str | None
    claimed_at: float | None
    lost_at: float

    def as_json(self) -> Json:
        """The value as it is kept."""
        return {"worker": self.worker, "claimed_at": self.claimed_at, "lost_at": self.lost_at}


@dataclass(frozen=True, kw_only=True, slots=True)
class ParkedReason(JsonValue):
    """Why an ask is parked, as the inbox shows it; the names and the order of its JSON stay as they are.

    `call` is the number of the handler's call, `tool` and what follows it are known where the call is. `is_held`: it is
    known which worker had the ask, and since when. `was_lost`: that worker was lost, and stands first. `outcome` and
    `resolved_at` are there once it is resolved.
    """

    reason: str
    attempts: int
    call: int | None = None
    tool: str | None = None
    arguments: Json | None = None
    idempotency_key: str | None = None
    is_held: bool = False
    was_lost: bool = False
    worker: LastHolder | None = None
    began_at: float | None = None
    error: KeptError | None = None
    outcome: str | None = None
    resolved_at: float | None = None

    def as_json(self) -> Json:
        """The value as it is kept."""
        worker = self.worker.as_json() if self.worker is not None else None
        holder: Json = {"worker": worker, "began_at": self.began_at} if self.is_held else {}
        made: Json = holder if self.was_lost else {}
        made = made | {"reason": self.reason, "attempts": self.attempts}
        if self.call is not None:
            made["call"] = self.call
        if self.tool is not None:
            made |= {name: getattr(self, name) for name in _CALL}
        made |= holder
        error = self.error.as_json() if self.error is not None else None
        return made | given(error=error, outcome=self.outcome, resolved_at=self.resolved_at)

    def shown(self) -> Json:
        """Return what events tell of it."""
        kept = self.as_json()
        return {name: kept[name] for name in ("reason", "tool", "error") if name in kept}


def parked_reason(found: Mapping[str, Any]) -> ParkedReason:
    """Read a value as it is kept."""
    return ParkedReason(
        reason=found.get("reason") or "",
        attempts=found.get("attempts") or 0,
        call=found.get("call"),
        tool=found.get("tool"),
        arguments=found.get("arguments"),
        idempotency_key=found.get("idempotency_key"),
        is_held="worker" in found,
        was_lost=next(iter(found), None) == "worker",
        worker=_holder(found.get("worker")),
        began_at=found.get("began_at"),
        error=kept_error(found.get("error")),
        outcome=found.get("outcome"),
        resolved_at=found.get("resolved_at"),
    )


def _holder(found: Mapping[str, Any] | None) -> LastHolder | None:
    return None if found is None else LastHolder(id=found["id"], host=found.get("host"), pid=found.get("pid"))
