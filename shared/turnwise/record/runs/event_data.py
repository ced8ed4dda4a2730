"""The data of events: of those about a run, and of those about the attempts at an ask.

Logs, timelines and the API read them, so the names, the order and the nulls of their JSON stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from turnwise.record.runs.records import AskRecord, Json


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAccepted:
    """The first event of a run: its task, and the version of the application that accepted it."""

    type: ClassVar[str] = "run.accepted"
    task: str
    version: str

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"task": self.task, "version": self.version}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunForked:
    """The event with which a fork of `run` begins, after its event `at`; `model` is the fork's own."""

    type: ClassVar[str] = "run.forked"
    run: str
    at: int
    version: str | None
    model: str | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"run": self.run, "at": self.at} | _given(version=self.version, model=self.model)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRetried:
    """A failed run continues as it was at event `to`; `again`: the ask that failed is asked again."""

    type: ClassVar[str] = "run.retried"
    to: int
    again: bool
    error: Json | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"to": self.to, "again": self.again, "error": self.error}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """The end of a run; `status` is that of its task, `document` the id of its result."""

    status: str
    document: str | None = None
    error: Json | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"status": self.status} | _given(document=self.document, error=self.error)


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
        return made if self.work is None else made | {"work": self.work}


@dataclass(frozen=True, kw_only=True, slots=True)
class AskReleased:
    """A worker gave an ask back, or was made to."""

    type: ClassVar[str] = "ask.released"
    reason: str
    attempt: AttemptData

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"reason": self.reason} | self.attempt.as_json()


@dataclass(frozen=True, kw_only=True, slots=True)
class AskExpired:
    """The lease of an ask's worker ran out; `host` and `pid` are its, if they are known."""

    type: ClassVar[str] = "ask.expired"
    attempt: AttemptData
    host: str | None
    pid: int | None
    parked: bool

    def as_json(self) -> Json:
        """The data as it is kept."""
        return self.attempt.as_json() | _given(host=self.host, pid=self.pid) | {"parked": self.parked}


@dataclass(frozen=True, kw_only=True, slots=True)
class AskResolved:
    """A person said how to continue with a parked ask; `reason` and `tool` are those of its parking."""

    type: ClassVar[str] = "ask.resolved"
    outcome: str
    reason: str
    tool: str | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return {"outcome": self.outcome, "reason": self.reason} | _given(tool=self.tool)


def attempt_at(ask: AskRecord, worker: str | None, work: Json | None = None) -> AttemptData:
    """The attempt that `worker` has made at an ask."""
    return AttemptData(worker=worker, attempt=ask.attempts, claimed_at=ask.claimed_at, work=work)


def _given(**fields: object) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
