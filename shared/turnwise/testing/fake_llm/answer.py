"""The answers of the scripted model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolCall(_Strict):
    """A call of a tool; a string as `arguments` is sent as it is, valid JSON or not.

    Without an `id` it gets one that is made from the request.
    """

    id: str = ""
    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class ScriptedFault(_Strict):
    """An HTTP error instead of an answer; `retry_after` (seconds) becomes the header."""

    status: int = Field(ge=400, le=599)
    retry_after: float | None = Field(None, ge=0)
    message: str = "scripted fault"


class Answer(_Strict):
    """One answer, after `delay` seconds; with `fault`, an HTTP error or a connection that breaks in mid-answer.

    `pace` is the seconds before each piece, where the answer is streamed.
    """

    content: str | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    reasoning: str | None = None
    delay: float = Field(0.0, ge=0)
    pace: float = Field(0.0, ge=0)
    fault: ScriptedFault | Literal["disconnect"] | None = None
