"""The course of a scenario, as the golden data has it and as a player observes it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mentions(Value):
    """A text of free wording that is not empty and contains these words."""

    mentions: tuple[str, ...]


Text = str | Mentions


class ToolRecord(Value):
    """A tool by its request, with its fields but `request`, `purpose` and `id`; tools inside are nested records."""

    tool: str
    fields: dict[str, Any]


class CallRecord(Value):
    id: str
    name: str
    arguments: dict[str, Any]


class GoldenMessage(Value):
    """A message taken. `tools_found` stands in place of `tools` where these can be parsed out of the text or calls."""

    task: str
    responder: str
    sender: str
    recipient: str
    content: Text
    tools: tuple[ToolRecord, ...] = ()
    tools_found: tuple[ToolRecord, ...] = ()
    status: str | None = None
    calls: tuple[CallRecord, ...] = ()
    results: dict[str, Text] | None = None
    start: bool = False
    null: bool = False
    passed: bool = Field(False, alias="pass")
    responder_as: str | None = None

    @property
    def optional(self) -> bool:
        """Return whether an engine may leave it out of its record."""
        return self.start or self.null


class GoldenDocument(Value):
    content: Text
    tools: tuple[ToolRecord, ...] = ()
    tools_found: tuple[ToolRecord, ...] = ()
    status: str | None = None
    recipient: str = ""
    # Given where it is not a string.
    content_any: Any = None


class TypedValue(Value):
    """The result of a run with a return type: a plain value, or a tool."""

    value: ToolRecord | int | float | bool | str


class GoldenRun(Value):
    taken: tuple[GoldenMessage, ...]
    # (task, status), in the order in which the tasks ended.
    ends: tuple[tuple[str, str], ...]
    result: GoldenDocument | TypedValue | None
    exception: str | None


class PromptMessage(Value):
    """One message sent to a model. The data writes it as a list: role, content and, if any, calls or answers."""

    role: str
    content: Text
    calls: tuple[CallRecord, ...] = ()
    answers: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        if isinstance(value, list):
            role, content, *rest = value
            return {"role": role, "content": content, **(rest[0] if rest else {})}
        return value


Prompt = tuple[PromptMessage, ...]
# Per agent, for each call, the messages sent.
Prompts = dict[str, tuple[Prompt, ...]]


class Golden(Value):
    runs: tuple[GoldenRun, ...]
    llm_calls: dict[str, int]
    human_asked: int
    llm_inputs: Prompts | None = None


class ObservedMessage(Value):
    task: str
    responder: str
    sender: str
    recipient: str = ""
    content: str = ""
    tools: tuple[ToolRecord, ...] = ()
    status: str | None = None
    calls: tuple[CallRecord, ...] = ()
    results: dict[str, str] | None = None


class ObservedDocument(Value):
    content: str = ""
    tools: tuple[ToolRecord, ...] = ()
    status: str | None = None
    recipient: str = ""
    content_any: Any = None
    calls: tuple[CallRecord, ...] = ()


class ObservedError(Value):
    """An error that ended a run: the names of its type and of the types it derives from, and what there is to read."""

    types: tuple[str, ...]
    detail: str = ""


class ObservedRun(Value):
    taken: tuple[ObservedMessage, ...]
    ends: tuple[tuple[str, str], ...]
    result: ObservedDocument | TypedValue | None = None
    error: ObservedError | None = None
    # Whether the runs after it know nothing of it.
    forgotten: bool = False


class Observation(Value):
    """A player's view of all runs of a scenario; None where it could not see the prompts.

    `calls_before`: how many calls each agent's model had got when the first run that was forgotten had ended.
    """

    runs: tuple[ObservedRun, ...]
    llm_calls: dict[str, int]
    human_asked: int
    llm_inputs: Prompts | None = None
    calls_before: dict[str, int] | None = None
