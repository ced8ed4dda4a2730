"""Schedules and their ticks as they are read from the record and handed to it, frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from turnwise.base.json_value import Json
from turnwise.record.database.rows import names
from turnwise.record.database.schedule_tables import schedule_ticks, schedules
from turnwise.schedules.catching_up import CatchUpPolicy
from turnwise.schedules.policies import CatchUp, OverlapPolicy
from turnwise.schedules.timing import Timing

# Begins the tag of every run of a schedule; its name follows.
TAG = "schedule:"


class TickOutcome(StrEnum):
    """The result of a tick."""

    SUBMITTED = "submitted"  # it has a run
    QUEUED = "queued"  # it waits for the end of the run before it
    SKIPPED = "skipped"  # the run before it had not ended
    MISSED = "missed"  # no one was there for it
    REFUSED = "refused"  # its run was not accepted


@dataclass(frozen=True, kw_only=True)
class ScheduleTerms:
    """The parts of a schedule that whoever makes it chooses. `run` is what its runs are submitted with."""

    task: str
    run: Json
    timing: Timing
    catch_up: CatchUpPolicy = field(default_factory=CatchUpPolicy)
    overlap: OverlapPolicy = "skip"

    def columns(self) -> Json:
        """The values of its columns."""
        timing = self.timing
        return {
            "task": self.task,
            "run": self.run,
            **{name: getattr(timing, name) for name in _TIMING},
            "catch_up": self.catch_up.kind,
            "catch_up_limit": self.catch_up.limit,
            "overlap": self.overlap,
        }


_TIMING = ("cron", "every", "at", "timezone", "start_at", "end_at", "jitter")


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord:
    """A schedule's row; the field names are the columns.

    `version` is that of the application whose code declares it, None: a request made it. `due_at` is the next tick.
    """

    id: str
    tenant: str
    name: str
    task: str
    run: Json
    cron: str | None
    every: float | None
    at: float | None
    timezone: str
    start_at: float | None
    end_at: float | None
    jitter: float
    catch_up: CatchUp
    catch_up_limit: int
    overlap: OverlapPolicy
    version: str | None
    due_at: float | None
    look_at: float | None
    paused_at: float | None
    paused_by: str | None
    pause_note: str | None
    created_at: float
    created_by: str
    updated_at: float

    @cached_property
    def timing(self) -> Timing:
        """Its times."""
        return Timing(anchor=self.created_at, **{name: getattr(self, name) for name in _TIMING})

    @cached_property
    def policy(self) -> CatchUpPolicy:
        """The treatment of missed ticks."""
        return CatchUpPolicy(kind=self.catch_up, limit=self.catch_up_limit)

    @property
    def terms(self) -> ScheduleTerms:
        """The parts that may be changed."""
        return ScheduleTerms(
            task=self.task, run=self.run, timing=self.timing, catch_up=self.policy, overlap=self.overlap
        )

    def fires_at(self, due: float | None) -> float | None:
        """Return when the tick that is due then is to happen."""
        return None if due is None else self.timing.fires_at(due, self.id)

    def key_of(self, due: float) -> str:
        """The idempotency key of that tick's run."""
        return f"schedule:{self.id}:{due!r}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TickRecord:
    """A tick's row. `ticks` is how many it stands for: of those that were missed together, the last one has a row.

    `code` and `reason` say why it has no run. `triggered_by` is None where the time did it.
    """

    schedule_id: str
    due_at: float
    at: float
    outcome: TickOutcome
    run_id: str | None = None
    ticks: int = 1
    triggered_by: str | None = None
    code: str | None = None
    reason: str | None = None


SCHEDULE = tuple(schedules.c)
TICK = tuple(schedule_ticks.c)
_SCHEDULE_NAMES, _TICK_NAMES = names(SCHEDULE), names(TICK)


def schedule_of(row: Sequence[Any]) -> ScheduleRecord:
    """A schedule from the values of `SCHEDULE`."""
    return ScheduleRecord(**dict(zip(_SCHEDULE_NAMES, row, strict=True)))


def tick_of(row: Sequence[Any]) -> TickRecord:
    """A tick from the values of `TICK`."""
    values = dict(zip(_TICK_NAMES, row, strict=True))
    return TickRecord(**values | {"outcome": TickOutcome(values["outcome"])})
