"""The settings of a schedule's runs: the gateway takes them, and `App.schedule` holds code to the same bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from turnwise.api.body import Body, Limits, Tag, Version, said
from turnwise.base.ids import SESSION_ID
from turnwise.base.json_value import Json
from turnwise.errors import InvalidScheduleError
from turnwise.models.budget.budget import usd_text
from turnwise.schedules.declared import ORIGIN

# Tags of a schedule's runs beside the one that names the schedule.
_MOST_TAGS = 19


def _without_origin(value: dict[str, Any]) -> dict[str, Any]:
    if ORIGIN in value:
        raise PydanticCustomError("taken", f"the key {ORIGIN!r} tells of the schedule; choose another key")
    return value


Message = Annotated[str, AfterValidator(said)]
Session = Annotated[str, Field(pattern=SESSION_ID)]
Priority = Annotated[int, Field(ge=-100, le=100)]
Tags = Annotated[list[Tag], Field(max_length=_MOST_TAGS)]
Metadata = Annotated[dict[str, Any], AfterValidator(_without_origin)]


class ScheduleRun(Body):
    """The settings that the runs of a schedule are submitted with, beside the task."""

    message: Message = Field(examples=["Write the report of the day."])
    session_id: Session | None = None
    version: Version | None = None
    limits: Limits = Limits()
    priority: Priority = 0
    tags: Tags = Field([])
    metadata: Metadata = Field({}, description="Anything of the client's own; its runs have it, too.")

    def run(self) -> Json:
        """The settings as the record keeps them."""
        return self.model_dump(mode="json", include=set(ScheduleRun.model_fields), exclude_none=True)


def declared_run(schedule: str, settings: Mapping[str, Any]) -> Json:
    """The settings of the runs of a schedule that code declares, which has its limits among the others.

    Raises `InvalidScheduleError`, which names the schedule.
    """
    limits = {name: value for name, value in settings.items() if name in Limits.model_fields}
    others = {name: value for name, value in settings.items() if name not in limits}
    if "max_cost" in limits:
        limits["max_cost"] = _decimal_string(limits["max_cost"])
    try:
        json.dumps(others.get("metadata"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidScheduleError(
            f"the schedule {schedule[:100]!r}: metadata cannot be kept as JSON: {error}"
        ) from error
    try:
        return ScheduleRun.model_validate({**others, "limits": limits}).run()
    except ValidationError as error:
        faults = "; ".join(_told(fault) for fault in error.errors())
        raise InvalidScheduleError(f"the schedule {schedule[:100]!r}: {faults}") from error


def _decimal_string(amount: Decimal | str) -> str:
    """The amount without an exponent, as JSON has it; what is none stays as it is, to be refused."""
    try:
        number = Decimal(amount)
    except (InvalidOperation, TypeError, ValueError):
        return str(amount)
    return usd_text(number) or str(number)


def _told(fault: ErrorDetails) -> str:
    name = ".".join(str(part) for part in fault["loc"] if part != "limits")  # in code each limit is a parameter
    if fault["type"] == "string_pattern_mismatch":
        expected = "expected letters, digits and ._:@-, at most 128, the first a letter or digit"
    else:
        expected = fault["msg"].removeprefix("Value error, ")
    return f"{name} is {repr(fault['input'])[:100]}: {expected}"
