"""The bodies of requests about schedules."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from turnwise.api.body import Body, Limits, Version, plain_text
from turnwise.api.schedule_run import Message, Metadata, Priority, ScheduleRun, Session, Tags
from turnwise.base.json_value import Json
from turnwise.record.schedules.schedule import ScheduleRecord, ScheduleTerms
from turnwise.schedules.catching_up import MOST_CAUGHT_UP, CatchUpPolicy
from turnwise.schedules.cron import LONGEST as LONGEST_LINE
from turnwise.schedules.declared import ID_PREFIX, NAME_FORM, seconds_of
from turnwise.schedules.policies import CatchUp, OverlapPolicy
from turnwise.schedules.timing import LONGEST, MOST_JITTER, SHORTEST, Timing

# JSON has no times, so they are texts; one without an offset is of the wall clock in `timezone`.
Moment = Annotated[
    datetime | None,
    Field(strict=False, description="Without an offset, a time of the wall clock in `timezone`."),
]
Task = Annotated[str, AfterValidator(plain_text), Field(min_length=1, max_length=200)]
Cron = Annotated[
    str | None,
    Field(
        max_length=LONGEST_LINE,
        description="Five fields: minute hour day-of-month month day-of-week; or @hourly, @daily, @weekly, @monthly.",
        examples=["0 3 * * MON-FRI"],
    ),
]
Every = Annotated[float | None, Field(ge=SHORTEST, le=LONGEST, description="Seconds between two ticks.")]
Zone = Annotated[str, AfterValidator(plain_text), Field(min_length=1, max_length=100, examples=["Europe/Berlin"])]
Jitter = Annotated[float, Field(ge=0, le=MOST_JITTER, description="Seconds by which a tick may be late, by chance.")]
Limit = Annotated[int, Field(ge=1, le=MOST_CAUGHT_UP, description="With `all`: how many missed ticks happen.")]
# Fields of a schedule that belong to its runs, beside the message.
_OF_RUN = ("session_id", "version", "priority", "tags", "metadata", "limits")
_TIMES = ("cron", "every", "at")


class NewScheduleBody(ScheduleRun):
    """A schedule to be made: one of `cron`, `every` and `at`."""

    name: str = Field(max_length=80, pattern=NAME_FORM, description="Unique in the tenant.")
    task: Task = Field(examples=["report"])
    cron: Cron = None
    every: Every = None
    at: Moment = None
    timezone: Zone = "UTC"
    start_at: Moment = None
    end_at: Moment = None
    jitter: Jitter = 0.0
    catch_up: CatchUp = Field("last", description="What becomes of ticks that were missed.")
    catch_up_limit: Limit = 10
    overlap: OverlapPolicy = Field("skip", description="A tick while the run before it has not ended.")

    @field_validator("name")
    @classmethod
    def _no_id(cls, value: str) -> str:
        if value.startswith(ID_PREFIX):
            raise PydanticCustomError("taken", f"a name cannot begin with {ID_PREFIX}, as ids do")
        return value

    def terms(self) -> ScheduleTerms:
        """The schedule that the body asks for; raises `InvalidScheduleError`."""
        timing: dict[str, Any] = {name: getattr(self, name) for name in ("cron", "every", "jitter", "timezone")}
        timing |= {name: seconds_of(getattr(self, name), self.timezone, name) for name in ("at", "start_at", "end_at")}
        return ScheduleTerms(
            task=self.task,
            run=self.run(),
            timing=Timing(**timing),
            catch_up=CatchUpPolicy(kind=self.catch_up, limit=self.catch_up_limit),
            overlap=self.overlap,
        )


class ScheduleChange(Body):
    """Fields of a schedule to be changed; what is left out stays. One of `cron`, `every` and `at` takes their place."""

    task: Task | None = None
    message: Message | None = None
    cron: Cron = None
    every: Every = None
    at: Moment = None
    timezone: Zone | None = None
    start_at: Moment = None
    end_at: Moment = None
    jitter: Jitter | None = None
    catch_up: CatchUp | None = None
    catch_up_limit: Limit | None = None
    overlap: OverlapPolicy | None = None
    session_id: Session | None = None
    version: Version | None = None
    limits: Limits | None = None
    priority: Priority | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None

    def terms_of(self, found: ScheduleRecord) -> ScheduleTerms:
        """The terms of a schedule after this change; raises `InvalidScheduleError`."""
        old, given = found.terms, self.model_fields_set
        return ScheduleTerms(
            task=self.task or old.task,
            run=self._run(old.run),
            timing=Timing(**self._timing(found)),
            catch_up=CatchUpPolicy(
                kind=self.catch_up or old.catch_up.kind, limit=self.catch_up_limit or old.catch_up.limit
            ),
            overlap=self.overlap if self.overlap is not None and "overlap" in given else old.overlap,
        )

    def _run(self, old: Json) -> Json:
        changes = self.model_dump(mode="json", include={*_OF_RUN} & self.model_fields_set)
        if self.message is not None:  # no run is without one, so null leaves it as it is
            changes["message"] = self.message
        if self.limits is not None:
            limits = old.get("limits", {}) | self.limits.model_dump(mode="json", exclude_unset=True)
            changes["limits"] = {name: value for name, value in limits.items() if value is not None}
        return {name: value for name, value in (old | changes).items() if value is not None}

    def _timing(self, found: ScheduleRecord) -> dict[str, Any]:
        given = self.model_fields_set
        timezone = self.timezone or found.timezone
        made: dict[str, Any] = {
            "timezone": timezone,
            "jitter": found.jitter if self.jitter is None else self.jitter,
        }
        for name in ("start_at", "end_at"):
            made[name] = seconds_of(getattr(self, name), timezone, name) if name in given else getattr(found, name)
        of_change = any(name in given and getattr(self, name) is not None for name in _TIMES)
        source: Any = self if of_change else found
        made |= {"cron": source.cron, "every": source.every}
        return made | {"at": seconds_of(self.at, timezone, "at") if of_change else found.at}


class SchedulePauseRequest(Body):
    """The note of a pause."""

    note: Annotated[str, AfterValidator(plain_text)] | None = Field(
        None, min_length=1, max_length=300, description="Shown with the schedule.", examples=["office is closed"]
    )
