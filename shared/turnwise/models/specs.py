"""Tools and formats as programs give them to a model's client by hand, and as a program's own model is given them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMFunctionSpec, ResponseFormat, ToolChoice


class OpenAIToolSpec(BaseModel):
    """A tool for `chat(tools=[...])` of a model's client: a function that the model may call.

    `function` is what the model is told of it; `type` is "function", the only one there is. With `strict` the model is
    held to its schema; None leaves that to the server.
    """

    type: str = "function"
    strict: bool | None = None
    function: LLMFunctionSpec


class OpenAIJsonSchemaSpec(BaseModel):
    """A form of answers for `chat(response_format=...)` of a model's client.

    `function` has its name, its description and, as `parameters`, the JSON schema. With `strict` the model is held to
    every word of it.
    """

    strict: bool | None = None
    function: LLMFunctionSpec

    def to_dict(self) -> dict[str, Any]:
        """Return the form as the API's `response_format`."""
        named: dict[str, Any] = {
            "name": self.function.name,
            "description": self.function.description,
            "schema": self.function.parameters,
        }
        strict = {} if self.strict is None else {"strict": self.strict}
        return {"type": "json_schema", "json_schema": named | strict}


def choice_of(
    tools: ToolChoice | Sequence[OpenAIToolSpec] | None,
    tool_choice: str | dict[str, Any] = "auto",
    functions: Sequence[LLMFunctionSpec] | None = None,
    function_call: str | dict[str, Any] = "auto",
    response_format: OpenAIJsonSchemaSpec | None = None,
) -> ToolChoice | None:
    """Return what the answer may be, None for any text; raises `ConfigurationError` for what names no function."""
    if tools is None or isinstance(tools, ToolChoice):
        choice = tools
        if functions:
            choice = ToolChoice(tools=list(functions), choice=_named(function_call), legacy=True)
    else:
        strict = frozenset(tool.function.name for tool in tools if tool.strict)
        choice = ToolChoice(tools=[tool.function for tool in tools], choice=_named(tool_choice), strict=strict)
    if response_format is None:
        return choice
    spec = response_format.function
    wanted = ResponseFormat(
        name=spec.name,
        description=spec.description,
        json_schema=spec.parameters,
        strict=bool(response_format.strict),
    )
    return (choice or ToolChoice()).model_copy(update={"response_format": wanted})


def given_as_arguments(choice: ToolChoice | None) -> dict[str, Any]:
    """Return the arguments of `chat` that say the same; only those that are not the default."""
    if choice is None:
        return {}
    given: dict[str, Any] = {}
    if choice.tools and choice.legacy:
        given = {"functions": choice.tools, "function_call": _as_function_call(choice)}
    elif choice.tools:
        specs = [OpenAIToolSpec(function=spec, strict=spec.name in choice.strict or None) for spec in choice.tools]
        given = {"tools": specs, "tool_choice": _as_tool_choice(choice)}
    if (wanted := choice.response_format) is not None:
        spec = LLMFunctionSpec(name=wanted.name, description=wanted.description, parameters=wanted.json_schema)
        given["response_format"] = OpenAIJsonSchemaSpec(function=spec, strict=wanted.strict)
    return given


def _named(choice: str | dict[str, Any]) -> str:
    if isinstance(choice, str):
        return choice
    function = choice.get("function", choice)
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise ConfigurationError(
            f"the tool choice {choice!r} names no function; expected 'auto', 'none', 'required' or "
            "{'type': 'function', 'function': {'name': ...}}"
        )
    return name


def _as_tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.choice in ("auto", "none", "required"):
        return choice.choice
    return {"type": "function", "function": {"name": choice.choice}}


def _as_function_call(choice: ToolChoice) -> str | dict[str, Any]:
    return choice.choice if choice.choice in ("auto", "none", "required") else {"name": choice.choice}
