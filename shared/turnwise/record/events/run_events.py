"""The data of events about a run and its tasks.

Logs, timelines and the API read them, so the names, the order and the nulls of their JSON stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from turnwise.base.json_value import Json, given
from turnwise.base.money import decimal_string
from turnwise.base.waits import RunWait
from turnwise.record.states import RunStatus
from turnwise.record.values.kept_errors import RunError


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
    """The event with which a fork of `run` begins, after its event `at`; `model` is the fork's own.

    `given`: a person has written the answer of the model, or of the handlers, that is asked there.
    """

    type: ClassVar[str] = "run.forked"
    run: str
    at: int
    version: str | None
    model: str | None
    given: bool = False

    def as_json(self) -> Json:
        """The data as it is kept."""
        told = given(version=self.version, model=self.model, given=self.given or None)
        return {"run": self.run, "at": self.at} | told


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRetried:
    """A failed run continues as it was at event `to`; `again`: the ask that failed is asked again."""

    type: ClassVar[str] = "run.retried"
    to: int
    again: bool
    error: RunError | None

    def as_json(self) -> Json:
        """The data as it is kept."""
        error = self.error.as_json() if self.error is not None else None
        return {"to": self.to, "again": self.again, "error": error}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """The end of a run, by its final status; `status` is that of its task, `document` the id of its result."""

    ended: RunStatus
    status: str
    document: str | None = None
    error: RunError | None = None

    @property
    def type(self) -> str:
        """`run.completed`, `run.failed` or `run.cancelled`."""
        return f"run.{self.ended}"

    def as_json(self) -> Json:
        """The data as it is kept."""
        error = self.error.as_json() if self.error is not None else None
        return {"status": self.status} | given(document=self.document, error=error)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStarted:
    """A task begins with a message; `waited_for` tells why the run could not begin at once."""

    type: ClassVar[str] = "task.started"
    document: str | None = None
    waited_for: RunWait | None = None
    responder: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        waited_for = self.waited_for.as_json() if self.waited_for is not None else None
        return given(document=self.document, waited_for=waited_for, responder=self.responder)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFinished:
    """A task ends with a result, and with the status of a task."""

    type: ClassVar[str] = "task.finished"
    document: str | None = None
    status: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return given(document=self.document) | {"status": self.status}


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnTaken:
    """An answer was taken; `passed`: it hands the message on, `null`: it stands in for a missing answer."""

    type: ClassVar[str] = "turn.taken"
    document: str | None = None
    responder: str | None = None
    passed: bool = False
    null: bool = False

    def as_json(self) -> Json:
        """The data as it is kept."""
        marks = given(passed=self.passed or None, null=self.null or None)
        return given(document=self.document, responder=self.responder) | marks


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRejected:
    """An answer was not valid, so the next candidate is asked."""

    type: ClassVar[str] = "turn.rejected"
    document: str | None = None
    responder: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return given(document=self.document, responder=self.responder)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnNone:
    """No candidate gave an answer."""

    type: ClassVar[str] = "turn.none"
    document: str | None = None
    responder: str | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return given(document=self.document, responder=self.responder)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitsChanged:
    """A person has given the run other limits; None was left as it was."""

    type: ClassVar[str] = "limits.changed"
    max_cost: Decimal | None = None
    max_tokens: int | None = None

    def as_json(self) -> Json:
        """The data as it is kept."""
        return given(max_cost=decimal_string(self.max_cost), max_tokens=self.max_tokens)
