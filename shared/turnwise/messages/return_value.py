"""A value of a wanted type out of a task's result."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.typed_value import adapter, value_as

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def value_of_type(result: ChatDocument, wanted: Any) -> Any:
    """The value of type `wanted` in the result, None if there is none.

    In order: the text itself for `str`, unless it is blank, without the object that a model wrapped it in; the
    handler's value; every tool of a class for `list[Tool]`, the first one for a class; an object of another
    pydantic model, or a list or dict of a type, read from the handler's value or from JSON in the text; a number or
    flag parsed from the text; a field of a tool. A result that says neither yes nor no is no to `bool`. `X | None`
    is wanted as X. For `Any` it is the handler's value, or else the text.
    """
    wanted = _without_none(wanted)
    if wanted in (Any, object):
        return result.content if result.content_any is None else result.content_any
    if wanted is str and result.content.strip():
        return _text(result)
    if _is_tool(wanted):
        return _tool(result, wanted)
    value = _handlers_value(result, wanted)
    if value is None and get_origin(wanted) is list and _is_tool(*get_args(wanted)):
        return _tools(result, *get_args(wanted))
    if value is None:
        value = _read(result, wanted)
    if value is None:
        value = _field(result, wanted)
    return False if value is None and wanted is bool else value


def _text(result: ChatDocument) -> str:
    """The text; of an answer that had to be a text, and was read out of an object with a `value`, that value."""
    if isinstance(result.content_any, str) and result.content_any != result.content:
        match result.json_objects():
            case [{"value": str(value), **others}] if not others:
                return value
    return result.content


def _without_none(wanted: Any) -> Any:
    if get_origin(wanted) not in (Union, UnionType):
        return wanted
    kinds = [kind for kind in get_args(wanted) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 else wanted


def _is_tool(*wanted: Any) -> bool:
    return len(wanted) == 1 and isinstance(wanted[0], type) and issubclass(wanted[0], ToolMessage)


def _tool(result: ChatDocument, wanted: type[ToolMessage]) -> ToolMessage | None:
    if isinstance(result.content_any, wanted):
        return result.content_any
    return next((tool for tool in result.tool_messages if isinstance(tool, wanted)), None)


def _tools(result: ChatDocument, wanted: type[ToolMessage]) -> list[ToolMessage]:
    return [tool for tool in result.tool_messages if isinstance(tool, wanted)]


def _handlers_value(result: ChatDocument, wanted: Any) -> Any:
    """The value beside the text, if it has the type; None is no value."""
    value = result.content_any
    if value is None or (wanted is str and not str(value).strip()):  # a blank text, beside itself
        return None
    return value_as(value, wanted)


def _read(result: ChatDocument, wanted: Any) -> Any:
    """The value that the text, or a value that crossed a process as plain data, says."""
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return _model(result, wanted)
    text = result.content.strip()
    if wanted is bool:
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else None
    if wanted in (int, float):
        try:
            return wanted(text)
        except ValueError:
            return None
    if get_origin(wanted) in (list, dict):
        try:
            return adapter(wanted).validate_json(text)
        except ValidationError:  # it is not one: that is the question asked
            return None
    return None


def _model(result: ChatDocument, wanted: type[BaseModel]) -> BaseModel | None:
    """The value that crossed a process as plain data, or else the first object in the text that fits."""
    found = [result.content_any] if isinstance(result.content_any, dict) else []
    for fields in [*found, *result.json_objects()]:
        try:
            return wanted.model_validate(fields)
        except ValidationError:  # it is not one: that is the question asked
            continue
    return None


def _field(result: ChatDocument, wanted: Any) -> Any:
    """The first field of a tool that has the type."""
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    for tool in result.tool_messages:
        for kind in kinds:
            value = tool.get_value_of_type(kind)
            if value is not None:
                return value
    return None
