"""Parameters of OpenAI's interface: those that a run has a use for, and the only values that others may have.

A parameter that would change the answer, and cannot here, is refused by name. A value that says what is so anyway is
taken, because clients send it without being asked. docs/openai.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from turnwise.api.body import Body

# The code of the error for a parameter, or a value of one, that has no effect here.
UNSUPPORTED = "unsupported_parameter"


@dataclass(frozen=True)
class Only:
    """A parameter that may be left out, be null, or have one of the values `harmless`; `because` is told otherwise."""

    harmless: tuple[Any, ...]
    because: str

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": [None, *self.harmless], "description": f"Nothing else: {self.because}."}

    def _checked(self, value: Any) -> Any:
        if value is None or any(_same(value, one) for one in self.harmless):
            return value
        raise PydanticCustomError(UNSUPPORTED, "this is not supported: {because}", {"because": self.because})


def _same(value: Any, one: Any) -> bool:
    return isinstance(value, bool) == isinstance(one, bool) and bool(value == one)


_MODEL = "the task's own models are called as the application has configured them"
_TOOLS = "the task has tools of its own, and calls them itself"
_ONE_TEXT = "the answer is one text"
_LIMIT = "limit the whole run with metadata.max_tokens, which counts prompts as well"

Own = Annotated[Any, Only((), _MODEL)]
One = Annotated[Any, Only((1,), _MODEL)]
Zero = Annotated[Any, Only((0,), _MODEL)]
NoTools = Annotated[Any, Only(([],), _TOOLS)]
NoChoice = Annotated[Any, Only(("none", "auto"), _TOOLS)]
Parallel = Annotated[Any, Only((True, False), _TOOLS)]
OneText = Annotated[Any, Only((), _ONE_TEXT)]
NoTokenLimit = Annotated[Any, Only((), _LIMIT)]
Tier = Annotated[Any, Only(("auto", "default"), _MODEL)]
Stored = Annotated[Any, Only((True,), "every run is on record; TURNWISE_RETENTION says for how long")]
Format = Annotated[Any, Only(({"type": "text"},), "the task decides on the form of its answer")]


Metadata = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=4_000)]],
    Field(max_length=32),
]


# Marks of a value that is a text or a list: part of where a fault is, and of no name of a parameter.
AS_TEXT, AS_LIST = "as text", "as list"


def form_of(value: object) -> str:
    """The mark of a value that is a text or a list."""
    return AS_LIST if isinstance(value, list) else AS_TEXT


class StreamOptions(Body):
    """Parts of a stream beside the text."""

    include_usage: bool | None = Field(None, description="A last chunk without text has the usage.")
    include_obfuscation: Annotated[Any, Only((False,), "chunks have no padding")] = None


class CommonParameters(Body):
    """The parameters that both interfaces have."""

    model: str = Field(min_length=1, max_length=200, description="The name of a task.", examples=["desk"])
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = Field(
        None,
        description="`session_id`, `max_cost`, `max_tokens`, `turns`, `deadline`, `on_limit`, `tags` (with commas "
        "between them) and `on_disconnect` (cancel or continue) are the run's; it keeps the others.",
    )
    user: str | None = Field(None, max_length=500, description="Kept with the run's metadata.")
    safety_identifier: str | None = Field(None, max_length=500, description="The same.")
    prompt_cache_key: str | None = Field(None, max_length=500, description="A hint without effect.")
    temperature: One = None
    top_p: One = None
    top_logprobs: Zero = None
    tools: NoTools = None
    tool_choice: NoChoice = None
    parallel_tool_calls: Parallel = None
    service_tier: Tier = None
    store: Stored = None
    moderation: Own = None
    prompt_cache_options: Own = None
    prompt_cache_retention: Own = None
