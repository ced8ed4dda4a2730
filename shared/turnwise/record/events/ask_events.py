"""The data of events about asks: what was asked, each attempt, and its outcome.

Logs, timelines and the API read them, so the names, the order and the nulls of their JSON stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from turnwise.base.json_value import Json, given
from turnwise.base.waits import RunWait
from turnwise.record.asks.parked_reason import ParkedReason
from turnwise.record.values.kept_errors import RunError
from turnwise.record.values.outcomes import FailedCall
from turnwise.record.values.records import AskRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnAsked:
    """A model or an agent is asked to answer `document`; `version` is that of another application that asks."""

    type: ClassVar[str] = "turn.asked"
    responder: str
    queue: str | None = None
    document: str | None = None
    version: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        made = {"responder": self.responder} | given(document=self.document, version=self.version)
        return made | {"queue": self.queue}


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanAsked:
    """A human is asked to answer `document`; `version` is that of another application that asks."""

    type: ClassVar[str] = "human.asked"
    responder: str
    document: str | None = None
    version: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"responder": self.responder} | given(document=self.document, version=self.version)


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanAnswered:
    """A human has answered; without a `document` there is no answer, and others are asked."""

    type: ClassVar[str] = "human.answered"
    document: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return given(document=self.document)


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptData:
    """A worker's attempt at an ask, for the timeline; `work` has the times of what was done."""

    worker: str | None
    attempt: int
    claimed_at: float | None
    work: Json | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        made: Json = {"worker": self.worker, "attempt": self.attempt, "claimed_at": self.claimed_at}
        return made | given(work=self.work)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnReplied:
    """An ask has its reply, of a `kind`.

    There is no `attempt` where a person let the ask fail. `tools` are those whose handlers were called, `version` that
    of another application that answered.
    """

    type: ClassVar[str] = "turn.replied"
    responder: str
    kind: str
    document: str | None = None
    error: RunError | None = None
    attempt: AttemptData | None = None
    tools: tuple[str, ...] = ()
    version: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        made: Json = {"responder": self.responder, "kind": self.kind} | given(document=self.document)
        if self.error is not None:
            made["error"] = self.error.as_json()
        if self.attempt is not None:
            made |= self.attempt.as_json()
        return made | given(tools=list(self.tools) or None, version=self.version)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskReleased:
    """A worker released an ask, or was made to."""

    type: ClassVar[str] = "ask.released"
    reason: str
    attempt: AttemptData

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"reason": self.reason} | self.attempt.as_json()


@dataclass(frozen=True, kw_only=True, slots=True)
class AskDeferred:
    """An ask is postponed until `waiting_for` is over; `failed` is the call that came to this, if it is one."""

    type: ClassVar[str] = "ask.deferred"
    waiting_for: RunWait
    attempt: AttemptData
    failed: FailedCall | None = None

    def as_json(self) -> Json:
        """The data as it is kept; `attempt` counts the failed calls where there is one."""
        made: Json = {"waiting_for": self.waiting_for.as_json()} | self.attempt.as_json()
        return made if self.failed is None else made | self.failed.as_json()


@dataclass(frozen=True, kw_only=True, slots=True)
class AskExpired:
    """An ask's worker was lost, or (`unwritten`) could not write its answer; `host` and `pid` are its, if known."""

    type: ClassVar[str] = "ask.expired"
    attempt: AttemptData
    host: str | None
    pid: int | None
    parked: bool
    unwritten: bool = False

    def as_json(self) -> Json:
        """The data as it is kept."""
        made = self.attempt.as_json() | given(host=self.host, pid=self.pid) | {"parked": self.parked}
        return made | given(unwritten=self.unwritten or None)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskParked:
    """An ask waits for a person; there is no `attempt` where `ask.expired` has told of it."""

    type: ClassVar[str] = "ask.parked"
    why: ParkedReason
    attempt: AttemptData | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return self.why.shown() | (self.attempt.as_json() if self.attempt is not None else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class AskResolved:
    """A person said how to continue with a parked ask; `reason` and `tool` are those of its parking."""

    type: ClassVar[str] = "ask.resolved"
    outcome: str
    reason: str
    tool: str | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"outcome": self.outcome, "reason": self.reason} | given(tool=self.tool)


def attempt_at(ask: AskRecord, worker: str | None, work: Json | None = None) -> AttemptData:
    """The attempt that `worker` has made at an ask."""
    return AttemptData(worker=worker, attempt=ask.attempts, claimed_at=ask.claimed_at, work=work)
