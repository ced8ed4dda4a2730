"""The base of all bodies that the API takes, and the parts that several of them have.

The gateway refuses what they refuse; programs check by them what they are about to send.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from turnwise.base.json_bounds import fault_in
from turnwise.models.budget.budget import parse_usd

# A year; a deadline further away is a mistake in the unit.
MAX_DEADLINE = 366 * 86_400.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def _money(value: Any) -> Any:
    if value is None or isinstance(value, Decimal):
        return value
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise ValueError('expected US dollars as a decimal string, for instance "0.50"')
    return amount


def said(value: str) -> str:
    """The message; raises `ValueError` for an empty one."""
    if not value.strip():
        raise ValueError("the message is empty; say what the task is to work on")
    return value


def plain_text(value: str) -> str:
    """The text; raises `ValueError` for one with control characters."""
    if _CONTROL.search(value):
        raise ValueError("control characters are not allowed here")
    return value


Tag = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(plain_text)]
# Of the application.
Version = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(plain_text)]
Money = Annotated[Decimal | None, BeforeValidator(_money, json_schema_input_type=str | None)]


class Body(BaseModel):
    """Exact: an unknown field, or a number given as text, is refused and not guessed at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*", mode="before")
    @classmethod
    def _within_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if any(isinstance(one, type) and issubclass(one, Body) for one in (kind, *get_args(kind))):
            return value  # it names its own fields
        if (fault := fault_in(value)) is not None:
            raise PydanticCustomError("unwritable", "{fault}", {"fault": fault})
        return value


class Limits(Body):
    """The limits of a run; the server's default holds for one that is left out."""

    max_cost: Money = Field(None, description="US dollars, a decimal string; 0 is no limit.", examples=["0.50"])
    max_tokens: int | None = Field(None, ge=0, lt=2**53, description="0 is no limit.")
    turns: int | None = Field(None, gt=0, le=1_000_000, description="Turns of the root task.")
    on_limit: Literal["end", "wait"] | None = Field(
        None, description="What the run does at a limit of cost or tokens, also its session's or tenant's."
    )
    deadline: float | None = Field(None, gt=0, le=MAX_DEADLINE, description="Seconds from now.")
    can_wait: float | None = Field(
        None,
        ge=0,
        le=MAX_DEADLINE,
        description="Seconds that each call of a model may wait for a batch of its provider, at half the price; "
        "0: none, whatever the task says.",
    )
