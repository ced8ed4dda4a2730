"""The format that a model's answers have to have: what the model is told of it, and reading them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, get_origin

from pydantic import BaseModel, PydanticUserError, RootModel, TypeAdapter, ValidationError, create_model

from turnwise.base.json_bounds import fault_in
from turnwise.errors import ConfigurationError
from turnwise.messages.document import ChatDocument
from turnwise.messages.finite_numbers import NOT_FINITE, not_finite
from turnwise.messages.json_text import json_objects
from turnwise.messages.schema.json_schema import clean_schema, strict_schema
from turnwise.messages.signals import escape_signals
from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMFunctionSpec, ResponseFormat

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


class Wrapped(BaseModel):
    """A value of a type that is no pydantic model, as the one field of one; `_kind` is the type."""

    value: Any

    _kind: ClassVar[Any] = Any


@dataclass(frozen=True, kw_only=True)
class OutputFormat:
    """A tool or another model class that answers have to be, and how the model is told; see `set_output_format`.

    Another type, such as `int`, is wrapped in a class. `usable` and `handled` say what the agent did with the tool
    before.
    """

    kind: type[BaseModel]
    instructions: bool = True
    force_tools: bool = True
    defaults: bool = True
    usable: bool = False
    handled: bool = False

    @property
    def tool(self) -> type[ToolMessage] | None:
        """The class, if it is that of a tool."""
        return self.kind if issubclass(self.kind, ToolMessage) else None

    @property
    def wanted(self) -> Any:
        """The type that was given for the format."""
        return self.kind._kind if issubclass(self.kind, Wrapped) else self.kind

    @property
    def spec(self) -> LLMFunctionSpec:
        """The class as a function of the API."""
        return _spec(self.kind, self.defaults)

    @property
    def response_format(self) -> ResponseFormat:
        """The class for servers that hold a model to a schema."""
        return _response_format(self.kind, self.defaults)

    def rules(self) -> str:
        """Return what the system message says about answers."""
        schema = json.dumps(_spec(self.kind, self.defaults).parameters, indent=4)
        return (
            "=== FORMAT OF YOUR ANSWERS ===\n"
            "Answer with one JSON object that follows this schema, and with nothing else. Write the object itself,\n"
            f"not its schema.\n\n{schema}"
        )


def checked_kind(kind: Any) -> type[BaseModel]:
    """The class that answers of this type are read as; raises `ConfigurationError` if answers cannot be of it."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)) or issubclass(kind, RootModel):
        return _wrapping(kind)
    if issubclass(kind, ToolMessage) and not kind.name():
        raise ConfigurationError(f"{kind.__name__} has no name: give its field `request` a default")
    return kind


@lru_cache(maxsize=256)
def _wrapping(kind: Any) -> type[Wrapped]:
    try:
        if not (isinstance(kind, type) or get_origin(kind) is not None):
            raise TypeError(f"a {type(kind).__name__} is not a type")
        made = create_model("Answer", __base__=Wrapped, value=(kind, ...))
        made.model_json_schema()
    except (TypeError, PydanticUserError) as error:
        raise ConfigurationError(
            f"an answer cannot be {kind!r} ({str(error).splitlines()[0]}): expected a ToolMessage, another pydantic "
            "model, or a type that JSON can express, such as int or list[str]"
        ) from error
    made._kind = kind
    made.__doc__ = "The answer as `value`."
    return made


def _unwrapped(kind: type[Wrapped], text: str) -> Wrapped:
    """The value in the text that is no object with a `value`: as JSON, else as it is.

    Raises `ValidationError`, and `ValueError` for what could not be kept as JSON.
    """
    try:
        read = kind.model_construct(value=_adapter(kind).validate_json(text))
    except ValidationError:
        read = kind.model_construct(value=_adapter(kind).validate_python(text.strip()))
    _check(fault_in(read.value))
    try:
        given: Any = json.loads(text)
    except ValueError:
        given = text
    _check_numbers(read, given)
    return read


def _check(fault: str | None) -> None:
    if fault is not None:
        raise ValueError(fault)


def _check_numbers(read: BaseModel, given: Any) -> None:
    place = not_finite(read, given)
    if place is not None:
        raise ValueError(f"field `{_place(place)}`: {NOT_FINITE}")


@lru_cache(maxsize=256)
def _adapter(kind: type[Wrapped]) -> TypeAdapter[Any]:
    return TypeAdapter(kind._kind)


def read_answer(kind: type[BaseModel], text: str) -> BaseModel:
    """The object of `kind` in the text.

    Raises `ValidationError` of the first object, `ValueError` if there is none, or if it could not be kept as JSON.
    """
    fault: ValueError | None = None
    name = kind.name() if issubclass(kind, ToolMessage) else None
    for fields in json_objects(text):
        if name is not None and fields.setdefault("request", name) != name:
            continue
        try:
            _check(fault_in(fields))
            read = kind.model_validate(fields)
            _check_numbers(read, fields)
        except ValueError as error:  # also a ValidationError
            fault = fault or error
        else:
            return read
    if issubclass(kind, Wrapped):
        return _unwrapped(kind, text)
    raise fault if fault is not None else ValueError("there is no JSON object in it")


def take_in(output: OutputFormat, doc: ChatDocument, tools: Iterable[BaseModel]) -> str:
    """Put the object that the model wrote into its message; the fault that the model is to mend, "" for none.

    The object, or the value that it wraps, becomes the message's `content_any`, and a tool is attached as well. A
    message with API calls, or with another tool (`tools` are those found in it), is left alone.
    """
    found = list(tools)
    if doc.oai_tool_calls or doc.function_call is not None or any(not isinstance(t, output.kind) for t in found):
        return ""
    try:
        value = found[0] if found else read_answer(output.kind, doc.content)
    except ValidationError as error:
        problems = [f"- field `{_place(p['loc'])}`: {p['msg']}" for p in error.errors()]
    except ValueError as error:
        problems = [f"- {error}"]
    else:
        doc.content_any = value.value if isinstance(value, Wrapped) else value
        if isinstance(value, ToolMessage) and not doc.tool_messages:
            doc.tool_messages = [value]
        return ""
    lines = [
        f"Your answer is not in the format that it has to have, `{type_name(output.wanted)}`:",
        *problems,
        "Write the whole JSON object again, and nothing else.",
    ]
    return escape_signals("\n".join(lines))


def type_name(kind: Any) -> str:
    """The name of a type, as it is written in code."""
    return kind.__qualname__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "(whole object)"


@lru_cache(maxsize=256)
def _spec(kind: type[BaseModel], defaults: bool) -> LLMFunctionSpec:
    if issubclass(kind, ToolMessage):
        return kind.llm_function_schema(request=True, defaults=defaults)
    parameters = clean_schema(kind.model_json_schema(), hidden=set(), defaults=defaults)
    return LLMFunctionSpec(
        name=_NOT_IN_NAMES.sub("_", kind.__name__)[:64], description=_description(kind), parameters=parameters
    )


@lru_cache(maxsize=256)
def _response_format(kind: type[BaseModel], defaults: bool) -> ResponseFormat:
    spec = _spec(kind, defaults)
    strict = strict_schema(spec.parameters)
    name = _NOT_IN_NAMES.sub("_", spec.name)[:64]
    return ResponseFormat(
        name=name, description=spec.description, json_schema=strict or spec.parameters, strict=strict is not None
    )


def _description(kind: type[BaseModel]) -> str:
    """The docstring of the class itself."""
    return (vars(kind).get("__doc__") or f"An answer of the type {kind.__name__}.").strip()
