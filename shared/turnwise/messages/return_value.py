"""A value of a wanted type out of a task's result."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from turnwise.messages.document import ChatDocument
from turnwise.messages.tool_message import ToolMessage


def value_of_type(result: ChatDocument, wanted: Any) -> Any:
    """The value of type `wanted` in the result, None if there is none.

    In order: the text itself for `str`; the handler's value; every tool of a class for `list[Tool]`; the first tool
    of a class; an object of another pydantic model, read from the handler's value or from JSON in the text; a number
    or flag parsed from the text; a field of a tool.
    """
    if wanted is str:
        return result.content if result.content.strip() else None
    origin = get_origin(wanted)
    plain = origin if origin is not None else wanted
    if isinstance(plain, type) and isinstance(result.content_any, plain) and not _is_flag_for_int(result, wanted):
        return result.content_any
    if origin is list:
        (item,) = get_args(wanted) or (object,)
        if isinstance(item, type) and issubclass(item, ToolMessage):
            return [tool for tool in result.tool_messages if isinstance(tool, item)] or None
    if isinstance(wanted, type) and issubclass(wanted, ToolMessage):
        return next((tool for tool in result.tool_messages if isinstance(tool, wanted)), None)
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        read = _model(result, wanted)
        if read is not None:
            return read
    if wanted in (int, float, bool):
        parsed = _parsed(result.content.strip(), wanted)
        if parsed is not None:
            return parsed
    if isinstance(plain, type):
        for tool in result.tool_messages:
            value = tool.get_value_of_type(plain)
            if value is not None:
                return value
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


def _is_flag_for_int(result: ChatDocument, wanted: Any) -> bool:
    return wanted is int and isinstance(result.content_any, bool)


def _parsed(text: str, wanted: type[Any]) -> Any:
    if wanted is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
    try:
        return wanted(text)
    except ValueError:
        return None
