"""Schedules as the code of an application declares them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from turnwise.errors import InvalidScheduleError
from turnwise.schedules.catching_up import MOST_CAUGHT_UP, CatchUpPolicy
from turnwise.schedules.policies import CATCH_UPS, OVERLAP_POLICIES, OverlapPolicy
from turnwise.schedules.timing import LAST_YEAR, LATEST, Timing

# Names are a part of paths and of tags; none begins as the ids of schedules do.
NAME_FORM = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
ID_PREFIX = "sch_"
# The key of a run's metadata that tells of its schedule and tick, so no schedule has it.
ORIGIN = "schedule"
_NAME = re.compile(NAME_FORM)
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
    overlap: OverlapPolicy
    run: dict[str, Any]

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise InvalidScheduleError(f"the schedule {self.name[:100]!r}: {fault}")

    def _faults(self) -> list[str]:
        if not _NAME.fullmatch(self.name) or self.name.startswith(ID_PREFIX):
            return ["its name is not valid; expected at most 80 letters, digits and ._- that begin with a letter or "
                    f"digit, and not with {ID_PREFIX}"]  # fmt: skip
        if self.catch_up.kind not in CATCH_UPS:
            return [f"catch_up is {self.catch_up.kind!r}; expected {', '.join(CATCH_UPS)}"]
        if not 1 <= self.catch_up.limit <= MOST_CAUGHT_UP:
            return [f"catch_up_limit is {self.catch_up.limit}; expected 1 to {MOST_CAUGHT_UP}"]
        if self.overlap not in OVERLAP_POLICIES:
            return [f"overlap is {self.overlap!r}; expected {', '.join(OVERLAP_POLICIES)}"]
        return []


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
