"""Schedules as the code of an application declares them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from types import UnionType
from typing import Any, Literal

from turnwise.errors import InvalidScheduleError
from turnwise.schedules.catching_up import MOST_CAUGHT_UP, CatchUpPolicy
from turnwise.schedules.timing import LAST_YEAR, LATEST, Timing

# A tick of a schedule whose last run has not ended. allow: it happens all the same. skip: it does not. queue: it
# waits. cancel: it waits, and the run is cancelled.
Overlap = Literal["allow", "skip", "queue", "cancel"]
OVERLAPS: tuple[Overlap, ...] = ("skip", "queue", "cancel", "allow")
# A part of paths and of tags; ids of schedules begin with `sch_`.
SCHEDULE_NAME = r"^(?!sch_)[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
# The key of a run's metadata that tells of its schedule and tick, so no schedule has it.
ORIGIN = "schedule"
_NAME = re.compile(SCHEDULE_NAME)
_FIRST_YEAR = 1900
_EARLIEST = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, kw_only=True)
class DeclaredSchedule:
    """A schedule of a tenant. `run` is what its runs are submitted with, checked. Raises `InvalidScheduleError`."""

    tenant: str
    name: str
    task: str
    timing: Timing
    catch_up: CatchUpPolicy
    overlap: Overlap
    run: dict[str, Any]

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise InvalidScheduleError(f"the schedule {self.name[:100]!r}: {fault}")

    def _faults(self) -> list[str]:
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


def declared(
    *,
    task: str,
    name: str | None,
    tenant: str,
    cron: str | None,
    every: float | timedelta | None,
    at: datetime | str | None,
    timezone: str,
    start_at: datetime | str | None,
    end_at: datetime | str | None,
    jitter: float,
    catch_up: Any,
    catch_up_limit: int,
    overlap: Any,
    run: dict[str, Any],
) -> DeclaredSchedule:
    """A schedule from the arguments of `App.schedule`; raises `InvalidScheduleError`."""
    _check_type("cron", cron, str | None, "a text")
    _check_type("timezone", timezone, str, "a text")
    _check_type("jitter", jitter, int | float, "a number of seconds")
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    _check_type("every", seconds, int | float | None, "a number of seconds, or a timedelta")
    timing = Timing(
        cron=cron,
        every=seconds,
        at=seconds_of(at, timezone, "at"),
        timezone=timezone,
        start_at=seconds_of(start_at, timezone, "start_at"),
        end_at=seconds_of(end_at, timezone, "end_at"),
        jitter=jitter,
    )
    return DeclaredSchedule(
        tenant=tenant,
        name=name or task,
        task=task,
        timing=timing,
        catch_up=CatchUpPolicy(kind=catch_up, limit=catch_up_limit),
        overlap=overlap,
        run=run,
    )


def _check_type(name: str, value: object, kind: UnionType | type, expected: str) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise InvalidScheduleError(f"{name} is {value!r}; expected {expected}")


def _moment(value: datetime | str, name: str) -> datetime:
    """The moment, also of a text as ISO 8601 has it."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, datetime):
        raise InvalidScheduleError(f"{name} is {value!r}; expected a datetime, or a text such as '2026-12-24T18:00'")
    return found


def seconds_of(given: datetime | str | None, timezone: str, name: str) -> float | None:
    """Seconds since the epoch; a moment without an offset is one of the wall clock in `timezone`.

    Raises `InvalidScheduleError`, which names the moment `name`, for one that no schedule can mean.
    """
    if given is None:
        return None
    moment = _moment(given, name)
    zone = moment.tzinfo or Timing(every=60.0, timezone=timezone).zone
    at = moment.replace(tzinfo=zone).timestamp()
    if not _EARLIEST <= at < LATEST:
        endless = "; leave it out for a schedule without an end" if name == "end_at" else ""
        raise InvalidScheduleError(
            f"{name} is {moment.isoformat()}; expected a time in the years {_FIRST_YEAR} to {LAST_YEAR}{endless}"
        )
    return at


def digest_of(schedules: Sequence[DeclaredSchedule]) -> str:
    """The same for code that declares the same schedules."""
    plain = sorted((asdict(one) for one in schedules), key=lambda one: (one["tenant"], one["name"]))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
