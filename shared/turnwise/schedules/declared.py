"""Schedules as the code of an application declares them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from turnwise.base.json_value import given
from turnwise.errors import InvalidScheduleError
from turnwise.schedules.catching_up import MOST_CAUGHT_UP, CatchUpPolicy
from turnwise.schedules.timing import Timing

# A tick of a schedule whose last run has not ended. allow: it happens all the same. skip: it does not. queue: it
# waits. cancel: it waits, and the run is cancelled.
Overlap = Literal["allow", "skip", "queue", "cancel"]
OVERLAPS: tuple[Overlap, ...] = ("skip", "queue", "cancel", "allow")
# A part of paths and of tags; ids of schedules begin with `sch_`.
SCHEDULE_NAME = r"^(?!sch_)[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
# The key of a run's metadata that tells of its schedule and tick, so no schedule has it.
ORIGIN = "schedule"
# Tags of a schedule's runs beside the one that names the schedule.
MOST_TAGS = 19
_NAME = re.compile(SCHEDULE_NAME)
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")


@dataclass(frozen=True, kw_only=True)
class DeclaredSchedule:
    """A schedule of a tenant. `run` is what its runs are submitted with; raises `InvalidScheduleError`."""

    tenant: str
    name: str
    task: str
    timing: Timing
    catch_up: CatchUpPolicy
    overlap: Overlap
    run: dict[str, Any]

    def __post_init__(self) -> None:
        for fault in (*self._faults_of_terms(), *self._faults_of_run()):
            raise InvalidScheduleError(f"the schedule {self.name[:100]!r}: {fault}")

    def _faults_of_terms(self) -> list[str]:
        if not _NAME.match(self.name) or self.name.endswith("\n"):
            return ["its name is not valid; expected at most 80 letters, digits and ._- that begin with a letter or "
                    "digit, and not with sch_"]  # fmt: skip
        if self.catch_up.kind not in ("skip", "last", "all"):
            return [f"catch_up is {self.catch_up.kind!r}; expected skip, last or all"]
        if not 1 <= self.catch_up.limit <= MOST_CAUGHT_UP:
            return [f"catch_up_limit is {self.catch_up.limit}; expected 1 to {MOST_CAUGHT_UP}"]
        if self.overlap not in OVERLAPS:
            return [f"overlap is {self.overlap!r}; expected {', '.join(OVERLAPS)}"]
        return []

    def _faults_of_run(self) -> list[str]:
        run = self.run
        if not isinstance(run["message"], str) or not run["message"].strip():
            return ["it has no message; say what the task is to work on"]
        tags = run["tags"]
        if len(tags) > MOST_TAGS or not all(isinstance(tag, str) and 0 < len(tag) <= 100 for tag in tags):
            return [f"tags are {tags!r}; expected at most {MOST_TAGS} texts of at most 100 characters"]
        if ORIGIN in run["metadata"]:
            return [f"its metadata has the key {ORIGIN!r}, which tells of the schedule; choose another key"]
        session = run.get("session_id")
        if session is not None and not _SESSION.fullmatch(session):
            return [f"session_id is {session!r}; expected letters, digits and ._:@-, at most 128"]
        if not -100 <= run["priority"] <= 100:
            return [f"priority is {run['priority']}; expected -100 to 100"]
        try:
            json.dumps(run, allow_nan=False)
        except (TypeError, ValueError) as error:
            return [f"it cannot be kept as JSON: {error}"]
        return []


def declared(
    *,
    task: str,
    message: str,
    name: str | None,
    tenant: str,
    cron: str | None,
    every: float | timedelta | None,
    at: datetime | None,
    timezone: str,
    start_at: datetime | None,
    end_at: datetime | None,
    jitter: float,
    catch_up: Any,
    catch_up_limit: int,
    overlap: Any,
    run: dict[str, Any],
) -> DeclaredSchedule:
    """A schedule from the arguments of `App.schedule`; raises `InvalidScheduleError`."""
    timing = Timing(
        cron=cron,
        every=every.total_seconds() if isinstance(every, timedelta) else every,
        at=seconds_of(at, timezone),
        timezone=timezone,
        start_at=seconds_of(start_at, timezone),
        end_at=seconds_of(end_at, timezone),
        jitter=jitter,
    )
    return DeclaredSchedule(
        tenant=tenant,
        name=name or task,
        task=task,
        timing=timing,
        catch_up=CatchUpPolicy(kind=catch_up, limit=catch_up_limit),
        overlap=overlap,
        run={"message": message, **run},
    )


def run_terms(
    *,
    session_id: str | None = None,
    version: str | None = None,
    priority: int = 0,
    tags: Sequence[str] = (),
    metadata: dict[str, Any] | None = None,
    max_cost: Decimal | str | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    deadline: float | None = None,
    on_limit: str | None = None,
) -> dict[str, Any]:
    """The settings of runs of a schedule, beside task and message; raises `InvalidScheduleError`."""
    try:
        cost = None if max_cost is None else format(Decimal(max_cost), "f")
    except (InvalidOperation, TypeError, ValueError) as error:
        raise InvalidScheduleError(f'max_cost is {max_cost!r}; expected US dollars, for instance "0.50"') from error
    limits = given(max_cost=cost, max_tokens=max_tokens, turns=turns, deadline=deadline, on_limit=on_limit)
    chosen = given(session_id=session_id, version=version)
    return {**chosen, "priority": priority, "tags": list(tags), "metadata": metadata or {}, "limits": limits}


def seconds_of(moment: datetime | None, timezone: str) -> float | None:
    """Seconds since the epoch; a moment without an offset is one of the wall clock in `timezone`."""
    if moment is None or moment.tzinfo is not None:
        return None if moment is None else moment.timestamp()
    zone = Timing(every=60.0, timezone=timezone).zone
    return moment.replace(tzinfo=zone).timestamp()


def digest_of(schedules: Sequence[DeclaredSchedule]) -> str:
    """The same for code that declares the same schedules."""
    plain = sorted((asdict(one) for one in schedules), key=lambda one: (one["tenant"], one["name"]))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
