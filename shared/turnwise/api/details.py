"""The objects of responses whose fields depend on a kind: why a run waits, what failed, what an event tells.

They are dicts, also in programs, where a type checker knows their fields. No field has to be there, but for those of a
fork. A newer server may send others, and an older one fewer, so nothing of them is checked when they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, with_config
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from turnwise.api.open_values import OpenValues

# Of the fields that the schema has; no schema promises others.
_DESCRIBED = ConfigDict(extra="ignore")
_TIME = Field(json_schema_extra={"format": "date-time"})

WaitKind = Literal[
    "move",
    "session",
    "llm",
    "agent",
    "human",
    "retry",
    "outage",
    "provider",
    "provider_batch",
    "budget",
    "parked",
    "version",
    "paused",
    "upgrade",
]


class AsGiven:
    """Marks a `TypedDict` of a response: any object is taken as it is, and the schema has the declared fields."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        anything = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        return core_schema.union_schema([anything, handler(source)], mode="left_to_right")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        assert schema["type"] == "union"
        declared: CoreSchema = schema["choices"][1]
        return handler(declared)


@with_config(_DESCRIBED)
class ErrorDetail(TypedDict, total=False):
    """An error: its class and text, and where it was raised.

    `kind` and `model` are those of a failed call of a model; `limit`, `scope`, `value`, `used` and `why` those of a
    call that a limit forbade; `attempts` are the workers that were lost with the ask.
    """

    type: str
    message: str
    code: str
    kind: str
    place: str
    line: str
    tool: str
    model: str | None
    version: str
    limit: str
    scope: str
    value: Any
    used: Any
    why: str | None
    attempts: list[dict[str, Any]]


@with_config(_DESCRIBED)
class ForkedFrom(TypedDict):
    """The run that a fork was made of, and the event `at` which it was."""

    run: str
    at: int


@with_config(_DESCRIBED)
class WaitingFor(TypedDict, total=False):
    """The cause of a run's waiting: a `sentence` for people, a `kind` for programs, and the fields of that kind."""

    kind: Required[Annotated[WaitKind, OpenValues()]]
    sentence: Required[str]
    since: Annotated[str | None, _TIME]
    due_at: Annotated[str | None, _TIME]
    submitted_at: Annotated[str | None, _TIME]
    tries: int
    last_error: str | None
    reason: str | None
    coordinators: int
    run: str
    agent: str | None
    queue: str | None
    state: Annotated[str | int | None, Field(description="queued, claimed, lapsed; of an upgrade a version.")]
    ahead: int | None
    workers: int
    worker: dict[str, Any] | None
    attempt: int | None
    question: str
    task: str
    error: ErrorDetail | None
    model: str | None
    server: str | None
    limit: str | None
    scope: str
    ask: str
    tool: str | None
    version: str
    name: str
    known: int | None


@with_config(_DESCRIBED)
class EventDetail(TypedDict, total=False):
    """The data of an event; which fields there are depends on its type, as docs/http.md says.

    `document` is the document that `document_id` names. Times within are seconds since the epoch.
    """

    document_id: str
    document: dict[str, Any] | None
    task: str
    version: str | None
    run: str
    at: int
    model: str | None
    to: int
    again: bool
    given: bool
    error: ErrorDetail | None
    status: str | None
    waited_for: dict[str, Any]
    responder: str
    queue: str | None
    passed: bool
    null: bool
    kind: str
    tools: list[str]
    worker: str | None
    attempt: int
    claimed_at: float | None
    work: dict[str, Any]
    reason: str
    host: str
    pid: int
    parked: bool
    waiting_for: dict[str, Any]
    wait: float
    outcome: str
    tool: str | None
    call: int
    tokens: int
    max_output_tokens: int | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    cost: str | None
    doubt: str
    lost: bool
    corrects: dict[str, Any]
    limit: str
    scope: str
    message: str | None
    value: Any
    used: Any
    why: str | None
    max_cost: str
    max_tokens: int
