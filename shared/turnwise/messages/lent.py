"""Copies of what a message holds, for an application that may change them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import is_dataclass
from types import NoneType
from typing import Any, TypeVar

from pydantic import BaseModel

from turnwise.messages.tool_message import ToolMessage

_Tool = TypeVar("_Tool", bound=ToolMessage)

# Where pydantic keeps what a model holds.
_HELD = ("__dict__", "__pydantic_extra__", "__pydantic_private__", "__pydantic_fields_set__")
# Kinds of values that cannot change; most tools have no others.
_PLAIN = frozenset({str, int, float, bool, bytes, NoneType})


def lent_tool(tool: _Tool) -> _Tool:
    """Return a copy of the tool; the lists, dicts and models in its fields, further fields and private attributes are
    copied, other objects are shared.

    The value of a cached property is not copied, because the handler may change the fields that it was computed from.
    """
    copy = tool.model_copy()
    values, fields = copy.__dict__, type(tool).__pydantic_fields__
    if not values.keys() <= fields.keys():
        for name in [name for name in values if name not in fields]:
            del values[name]
    _lend(values)
    if copy.__pydantic_extra__:
        _lend(copy.__pydantic_extra__)
    if copy.__pydantic_private__:
        _lend(copy.__pydantic_private__)
    return copy


def _lend(values: dict[str, Any]) -> None:
    if not _PLAIN.issuperset(map(type, values.values())):
        values.update({name: lent_value(value) for name, value in values.items()})


class LentTool:
    """A tool as it was before an application had it."""

    def __init__(self, tool: ToolMessage) -> None:
        self._tool, self._before = tool, lent_tool(tool)

    def restore(self) -> None:
        """Give the tool all that it held back, as often as need be."""
        before = lent_tool(self._before)
        for name in _HELD:
            object.__setattr__(self._tool, name, getattr(before, name))  # also of a tool that is frozen


def lent_value(value: Any) -> Any:
    """Return a deep copy of a list, a dict, a set, a tuple, a model or a dataclass; any other value as it is.

    One that holds something that cannot be copied, such as a lock, is returned as it is, too.
    """
    if type(value) in _PLAIN or not (isinstance(value, (list, dict, set, tuple, BaseModel)) or is_dataclass(value)):
        return value
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - an object of the application's may refuse with anything
        return value
