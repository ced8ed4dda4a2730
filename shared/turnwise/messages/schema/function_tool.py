"""Making a tool of a typed function: its signature gives the fields, its docstring the words."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)

from pydantic import BaseModel, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from turnwise.errors import ConfigurationError
from turnwise.messages.schema.annotations import hint, innermost, offered_by_type

if TYPE_CHECKING:
    from turnwise.messages.tool_message import ToolEffect, ToolMessage


@dataclass(frozen=True, kw_only=True)
class Described:
    """A docstring in parts: the text before its sections, and the descriptions of parameters by name."""

    purpose: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def described(function: Callable[..., Any]) -> Described:
    """The docstring of `function`, with sections in the style of Google, NumPy, Sphinx or Epydoc."""
    text = inspect.getdoc(function)
    if not text:
        return Described()
    # Loaded only where a function becomes a tool.
    from docstring_parser import ParseError, parse

    try:
        read = parse(text)
    except ParseError:  # sections of no known style: all of it is prose
        return Described(purpose=text)
    return Described(
        purpose=(read.description or "").strip(),
        parameters={item.arg_name: " ".join((item.description or "").split()) for item in read.params},
    )


Tool = TypeVar("Tool", bound="ToolMessage")

# What function-calling APIs take as a name.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


Given: TypeAlias = Literal["field", "agent", "chat_doc", "idempotency_key"]


@dataclass(frozen=True, kw_only=True)
class _Parameter:
    """One parameter of the function.

    `given` says who supplies it: the model, through the tool's field `field`, or the framework, which has an agent
    and a document at hand.
    """

    name: str
    given: Given
    positional: bool
    field: str = ""
    annotation: Any = None
    default: Any = ...


def tool_from_function(
    base: type[Tool],
    function: Callable[..., Any],
    name: str | None = None,
    purpose: str | None = None,
    effect: ToolEffect | None = None,
) -> type[Tool]:
    """A subclass of `base` with a field for each parameter of `function`, handled by calling it.

    Raises `ConfigurationError` for a function that a model could not be told how to call.
    """
    inner = innermost(function)
    name = name or str(getattr(inner, "__name__", type(inner).__name__))
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot be a tool's name (letters, digits, `_` and `-`, at most 64): pass name='...'"
        )
    words = described(inner)
    parameters = _parameters(base, function, name, words.parameters)
    own = [item for item in parameters if item.given == "field"]
    fields = {item.field: (item.annotation, item.default) for item in own}
    told = words.purpose if purpose is None else purpose
    made = tool_class(base, name, told, fields, module=inner.__module__, effect=effect)
    made.__doc__ = inspect.getdoc(inner)
    made._recipient_is_data = "recipient" in fields
    _add_handler(made, function, parameters)
    return made


def tool_class(
    base: type[Tool],
    name: str,
    purpose: str,
    fields: Mapping[str, tuple[Any, Any]],
    *,
    module: str,
    effect: ToolEffect | None = None,
) -> type[Tool]:
    """A subclass of `base` with these fields, each a type and a default (`...` for none)."""
    title = "".join(part[:1].upper() + part[1:] for part in re.split(r"[_-]+", name)) or "Tool"
    definitions: dict[str, Any] = {"request": (str, name), "purpose": (str, purpose)}
    for key, (kind, default) in fields.items():
        definitions[key] = (kind, Field(...) if default is ... else default)
    if effect is not None:
        definitions["_effect"] = (str, effect)
    with warnings.catch_warnings():
        # An argument may well be called `name`, which a tool's class answers to, but no instance needs.
        warnings.filterwarnings("ignore", message=r"Field name .* shadows an attribute", category=UserWarning)
        try:
            return create_model(title, __base__=base, __module__=module, **definitions)
        except PydanticUserError as error:
            raise ConfigurationError(f"tool {name!r}: a type cannot be that of a field: {error}") from error


def field_names(base: type[BaseModel], arguments: Sequence[str]) -> dict[str, str]:
    """A field for each argument: of its name, with an underscore after it where a tool needs that name itself."""
    names: dict[str, str] = {}
    for argument in arguments:
        field = argument
        while field in base.model_fields or field in _NEEDED_BY_TOOLS or field.startswith("model_"):
            field = f"{field.removeprefix('model_')}_"
        field = field.lstrip("_") or "value"
        while field in names.values() or (field != argument and field in arguments):
            field += "_"
        names[argument] = field
    return names


# An instance answers to these; a field of the same name would stand in their way.
_NEEDED_BY_TOOLS = frozenset(f"{method}{twin}" for method in ("handle", "response") for twin in ("", "_async")) | {
    "to_json",
    "json_example",
    "format_example",
    "get_value_of_type",
    "handle_message_fallback",
    "common_fields",
}


def _parameters(
    base: type[Tool], function: Callable[..., Any], tool: str, texts: Mapping[str, str]
) -> list[_Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"tool {tool!r}: {function!r} has no signature to read; wrap it in a def") from error
    fields = field_names(base, list(signature.parameters))
    return [
        _parameter(item, fields[item.name], function, tool, texts.get(item.name))
        for item in signature.parameters.values()
    ]


def _parameter(
    item: inspect.Parameter, field: str, function: Callable[..., Any], tool: str, text: str | None
) -> _Parameter:
    if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
        raise ConfigurationError(
            f"tool {tool!r}: a model cannot be told what to give for `{item}`; "
            "name and annotate every parameter (a decorator should use functools.wraps)"
        )
    positional = item.kind is item.POSITIONAL_ONLY
    given = _from_framework(item, function)
    if given is not None:
        return _Parameter(name=item.name, given=given, positional=positional)
    if item.annotation is item.empty:
        raise ConfigurationError(
            f"tool {tool!r}: parameter {item.name!r} has no type; annotate it, for instance `{item.name}: str`"
        )
    return _Parameter(
        name=item.name,
        given="field",
        positional=positional,
        field=field,
        annotation=_worded(_resolved(item, function, tool), item.default, text),
        default=... if item.default is item.empty else item.default,
    )


def _from_framework(item: inspect.Parameter, function: Callable[..., Any]) -> Given | None:
    """Return whether the framework gives it: an agent or a document by annotation, or so named without another type.

    The key of the call goes by its name alone, because its type is that of many others.
    """
    if item.name == "idempotency_key":
        return "idempotency_key"
    if item.annotation is item.empty:
        return item.name if item.name in ("agent", "chat_doc") else None  # type: ignore[return-value]
    return offered_by_type(item, function)


def _resolved(item: inspect.Parameter, function: Callable[..., Any], tool: str) -> Any:
    try:
        found = hint(item, function)
    except NameError as error:
        raise ConfigurationError(
            f"tool {tool!r}: the type of parameter {item.name!r} is not known: {error}; "
            "define it at the top of the module, and import it outside of TYPE_CHECKING"
        ) from error
    except Exception as error:
        # Evaluating someone's annotation may raise anything.
        raise ConfigurationError(
            f"tool {tool!r}: the annotation of parameter {item.name!r} is not a type ({type(error).__name__}: {error});"
            " write a type, and put words about it in Annotated[...] or in the docstring"
        ) from error
    return found | None if item.default is None and NoneType not in get_args(found) else found


def _worded(found: Any, default: Any, text: str | None) -> Any:
    """The hint with the docstring's words, unless it, or the default, brings a description of its own."""
    for extra in found.__metadata__ if get_origin(found) is Annotated else ():
        if isinstance(extra, str):
            text = extra
    described_already = isinstance(default, FieldInfo) and default.description
    if not text or described_already or FieldInfo.from_annotation(found).description:
        return found
    return Annotated[found, Field(description=text)]


def _add_handler(made: type[Tool], function: Callable[..., Any], parameters: Iterable[_Parameter]) -> None:
    """Let the tool call the function with its fields, and with agent and document where it takes them."""
    parameters = tuple(parameters)

    def call(tool: Any, **offered: Any) -> Any:
        values = [
            (item, getattr(tool, item.field) if item.given == "field" else offered[item.given]) for item in parameters
        ]
        return function(
            *(value for item, value in values if item.positional),
            **{item.name: value for item, value in values if not item.positional},
        )

    def handle(self: Any, agent: Any = None, chat_doc: Any = None, idempotency_key: str = "") -> Any:
        return call(self, agent=agent, chat_doc=chat_doc, idempotency_key=idempotency_key)

    async def handle_async(self: Any, agent: Any = None, chat_doc: Any = None, idempotency_key: str = "") -> Any:
        awaited: Awaitable[Any] = call(self, agent=agent, chat_doc=chat_doc, idempotency_key=idempotency_key)
        return await awaited

    if _is_async(function):
        made.handle_async = handle_async  # type: ignore[attr-defined]
    else:
        made.handle = handle  # type: ignore[attr-defined]


def _is_async(function: Any) -> bool:
    target = innermost(function)
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004
