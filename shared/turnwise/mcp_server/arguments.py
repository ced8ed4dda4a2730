"""The arguments of the tools, and their JSON schemas."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from turnwise.errors import InvalidRequestError
from turnwise.models.budget.budget import usd_text

Arguments = TypeVar("Arguments", bound="_ToolArguments")


def _usd(amount: Decimal) -> Decimal:
    if usd_text(amount) is None:
        raise ValueError("expected US dollars, such as 0.50")
    return amount


# An amount is a text, so that no digit is lost; a model may send a number.
Usd = Annotated[Decimal, AfterValidator(_usd), WithJsonSchema({"type": "string", "examples": ["0.50"]})]


class _ToolArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    wait: float | None = Field(
        None,
        ge=0,
        le=86_400,
        description="Seconds to wait. A run that works on after them is continued with by the tool `result`.",
    )


class TaskArguments(_ToolArguments):
    """The arguments of a task's tool."""

    message: str = Field(description="What the task is to work on.")
    session_id: str | None = Field(
        None,
        description="Continues the conversation of an earlier run: letters, digits and ._:@-. A new name begins one.",
    )
    max_cost: Usd | None = Field(None, description="Limit of cost in US dollars; 0: none.")
    max_tokens: int | None = Field(None, ge=0, description="Limit of input and output tokens together; 0: none.")
    turns: int | None = Field(None, gt=0, description="Limit of turns of the task.")
    deadline: float | None = Field(None, gt=0, description="Limit in seconds from now.")


class AnswerArguments(_ToolArguments):
    """The arguments of `answer`."""

    run_id: str = Field(description="The run that waits for the answer.")
    text: str = Field(description="The answer of the human.")
    question: str | None = Field(None, description="Id of the question; needed only where the run asks several.")


class ResultArguments(_ToolArguments):
    """The arguments of `result`."""

    run_id: str = Field(description="A run that was begun earlier.")


class _PlainSchema(GenerateJsonSchema):
    """Schemas that every client can read: what may be left out is of one type, and has no default of null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        plain = super().default_schema(schema)
        if plain.get("default") is None:
            plain.pop("default", None)
        return plain

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def input_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    schema = arguments.model_json_schema(schema_generator=_PlainSchema)
    del schema["title"], schema["description"]
    return schema


def read(kind: type[Arguments], given: dict[str, Any] | None) -> Arguments:
    """Return the arguments of a call; raises `InvalidRequestError`, which names each that is wrong."""
    try:
        return kind.model_validate(given or {})
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False)]
        raise InvalidRequestError(f"the arguments cannot be taken; {'; '.join(faults)}") from error
