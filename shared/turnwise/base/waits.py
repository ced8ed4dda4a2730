"""Causes of waiting: the values of a run's `waiting_for`, and the one place where they become JSON and are read again.

A run's row and its `ask.deferred` events keep them, and the API shows them (docs/http.md), so the names, the order and
the nulls of their JSON stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

from turnwise.base.json_value import Json, JsonValue, unknown_keys


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cause(JsonValue):
    # Keys that this version does not know: a newer one has written them, and they are kept.
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponderWait(_Cause):
    """A worker of `queue` has to answer as `agent`; `responder` is `llm` or `agent`."""

    responder: str
    agent: str
    queue: str | None

    @property
    def kind(self) -> str:
        """The responder."""
        return self.responder

    def as_json(self) -> Json:
        """The value as it is kept."""
        return {"kind": self.responder, "agent": self.agent, "queue": self.queue, **self.rest}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wait(_Cause):
    kind: ClassVar[str]
    # Fields that are kept as null where they have no value; others without one are left out.
    nullable: ClassVar[tuple[str, ...]] = ()

    def as_json(self) -> Json:
        """The value as it is kept."""
        made: Json = {"kind": self.kind}
        for name in _FIELDS[self.kind]:
            value = getattr(self, name)
            if value is not None or name in self.nullable:
                made[name] = value
        return {**made, **self.rest}


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanWait(_Wait):
    """A human has to answer the ask `question` of a task, by its path."""

    kind: ClassVar[str] = "human"
    question: str
    task: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionWait(_Wait):
    """The run before it in its session has to end."""

    kind: ClassVar[str] = "session"
    run: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseWait(_Wait):
    """An operator has paused its task or its tenant (`scope`) of that name."""

    kind: ClassVar[str] = "paused"
    scope: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ParkedWait(_Wait):
    """A person has to say how to continue with a parked ask; `tool` is that of the call, if it is one."""

    kind: ClassVar[str] = "parked"
    ask: str
    agent: str
    reason: str | None = None
    tool: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetWait(_Wait):
    """A budget has too little left; `scope` says whose, `limit` is `cost` or `tokens`."""

    kind: ClassVar[str] = "budget"
    scope: str
    limit: str
    due_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderLimitWait(_Wait):
    """A provider's limit on calls of a model is used up; `limit` is `requests`, `tokens` or `concurrency`."""

    kind: ClassVar[str] = "provider"
    model: str
    limit: str | None = None
    due_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseWait(_Wait):
    """A call under way waits for the database to come back; no run keeps it."""

    kind: ClassVar[str] = "database"


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryWait(_Wait):
    """The ask is tried again, after call no. `attempt` had an `error` (`type`, `code`, `message`)."""

    kind: ClassVar[str] = "retry"
    agent: str | None = None
    error: Mapping[str, Any] | None = None
    attempt: int | None = None
    due_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutageWait(_Wait):
    """A model's provider does not answer; agent, error and attempt are those of a call that found it so."""

    kind: ClassVar[str] = "outage"
    nullable: ClassVar[tuple[str, ...]] = ("model",)
    agent: str | None = None
    error: Mapping[str, Any] | None = None
    attempt: int | None = None
    model: str | None
    server: str | None = None
    due_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderBatchWait(_Wait):
    """A model's call waits for a batch of its provider, at most until `due_at`; then it is made directly."""

    kind: ClassVar[str] = "provider_batch"
    model: str
    due_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradeWait(_Wait):
    """Only a newer Turnwise can continue: it has written a `state` of that version, this one reads up to `known`."""

    kind: ClassVar[str] = "upgrade"
    nullable: ClassVar[tuple[str, ...]] = ("state", "known")
    state: int | None
    known: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownWait(JsonValue):
    """A cause that this version does not know: a newer one has written it."""

    kind: str
    found: Mapping[str, Any]

    def as_json(self) -> Json:
        """The value as it was found."""
        return dict(self.found)


DeferralWait: TypeAlias = BudgetWait | DatabaseWait | ProviderLimitWait | RetryWait | OutageWait | ProviderBatchWait
RunWait: TypeAlias = (
    ResponderWait | HumanWait | SessionWait | PauseWait | ParkedWait | DeferralWait | UpgradeWait | UnknownWait
)
_KINDS: dict[str, type[_Wait]] = {
    kind.kind: kind
    for kind in (
        HumanWait,
        SessionWait,
        PauseWait,
        ParkedWait,
        BudgetWait,
        ProviderLimitWait,
        DatabaseWait,
        RetryWait,
        OutageWait,
        ProviderBatchWait,
        UpgradeWait,
    )
}
# By kind: the fields in order, each with the value that stands for one that is missing.
_FIELDS: dict[str, dict[str, Any]] = {
    name: {each.name: "" if each.default is MISSING else each.default for each in fields(kind) if each.name != "rest"}
    for name, kind in _KINDS.items()
}
_KEYS = {name: ("kind", *known) for name, known in _FIELDS.items()}
_RESPONDERS = ("llm", "agent")


def wait_of(found: Mapping[str, Any] | None) -> RunWait | None:
    """Read a value as it is kept; a text that an older version did not write is empty."""
    if not found:
        return None
    kind = found.get("kind")
    if kind in _RESPONDERS:
        rest = unknown_keys(found, ("kind", "agent", "queue"))
        return ResponderWait(responder=kind, agent=found.get("agent") or "", queue=found.get("queue"), rest=rest)
    known = _KINDS.get(str(kind))
    if known is None:
        return UnknownWait(kind=str(kind or ""), found=found)
    values = {name: found.get(name, default) for name, default in _FIELDS[known.kind].items()}
    made: Any = known(**values, rest=unknown_keys(found, _KEYS[known.kind]))
    return made  # type: ignore[no-any-return]
