"""What clients send."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

# A year; a deadline further away is a mistake in the unit.
_MAX_DEADLINE = 366 * 86_400.0
_MONEY = re.compile(r"\d{1,12}(\.\d{1,18})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def _money(value: Any) -> Any:
    if value is None or isinstance(value, Decimal):
        return value
    if not isinstance(value, str) or not _MONEY.fullmatch(value):
        raise ValueError('expected US dollars as a decimal string, for instance "0.50"')
    try:
        return Decimal(value)
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is no decimal number") from error


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("the message is empty; say what the task is to work on")
    return value


def _plain(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("control characters are not possible here")
    return value


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise ValueError("NaN and infinite numbers are not JSON") from error
    _text(text)
    return value


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair is no text; send valid Unicode") from error
    return value


# Letters, digits and a few signs: it is a part of paths and queries, and never one of dots alone.
SESSION_ID = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"

Tag = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain)]
Money = Annotated[Decimal | None, BeforeValidator(_money, json_schema_input_type=str | None)]


class _Body(BaseModel):
    """Exact: an unknown field, or a number given as text, is refused and not guessed at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Limits(_Body):
    """Where a run has to end; what is left out is the server's default."""

    max_cost: Money = Field(None, description="US dollars, a decimal string.", examples=["0.50"])
    max_tokens: int | None = Field(None, gt=0, lt=2**53)
    turns: int | None = Field(None, gt=0, le=1_000_000, description="Turns of the root task.")
    deadline: float | None = Field(None, gt=0, le=_MAX_DEADLINE, description="Seconds from now.")


class Submission(_Body):
    """A run to be made."""

    task: str = Field(min_length=1, max_length=200, examples=["support"])
    message: Annotated[str, AfterValidator(_text), AfterValidator(_said)] = Field(
        examples=["I was charged twice for May."]
    )
    session_id: str | None = Field(
        None,
        pattern=SESSION_ID,
        description="The run goes on where the last run of this session and task ended, once all before it have ended.",
        examples=["customer-17"],
    )
    limits: Limits = Limits()
    priority: int = Field(0, ge=-100, le=100, description="Higher is sooner.")
    tags: list[Tag] = Field([], max_length=20)
    metadata: Annotated[dict[str, Any], AfterValidator(_storable)] = Field(
        {}, description="Anything of the client's own; kept and given back."
    )

    def digest(self) -> str:
        """The same for two bodies that mean the same."""
        # Left out where there is none, so that the digests of bodies from before there were sessions still hold.
        without = {"session_id"} if self.session_id is None else None
        text = json.dumps(self.model_dump(mode="json", exclude=without), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class HumanText(_Body):
    """A human's answer; an empty text takes the default answer of a question addressed to User."""

    text: Annotated[str, AfterValidator(_text)] = Field(examples=["yes, go on"])
    question: Annotated[str, AfterValidator(_plain)] | None = Field(
        None, min_length=1, max_length=300, description="May be left out if exactly one question is open."
    )
