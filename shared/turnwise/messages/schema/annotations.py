"""Annotations of an application's functions, read as types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

Offered: TypeAlias = Literal["agent", "chat_doc"]

# The attribute by which a class says as which of them it is handed to a handler, because this module cannot import it.
OFFERED_AS = "_offered_as"


def offered_by_type(
    item: inspect.Parameter, function: Callable[..., Any], agents: Collection[str] = ("Agent", "ChatAgent")
) -> Offered | None:
    """Return what the annotation asks the framework for: an agent, or a document; None for neither.

    A subclass of either counts, and so does one of a union. `agents` are names of classes that mean an agent where the
    annotation cannot be read as a type, because only type checkers import its names, or because they are local.
    """
    if item.annotation is item.empty:
        return None
    try:
        kinds = _types_in(hint(item, function))
    except Exception:  # noqa: BLE001 - evaluating someone's annotation may raise anything, a text in it need be no expression
        words = re.findall(r"\w+", str(item.annotation))
        if "ChatDocument" in words:
            return "chat_doc"
        return "agent" if any(word in agents for word in words) else None
    for kind in kinds:
        if (found := getattr(kind, OFFERED_AS, None)) is not None:
            return cast(Offered, found)
    return None


def hint(item: inspect.Parameter, function: Callable[..., Any]) -> Any:
    """Return the annotation as a type; a text is read where the function was written. Raises `NameError`."""
    target = inspect.unwrap(innermost(function))
    target = target if inspect.isroutine(target) else type(target).__call__
    target = getattr(target, "__func__", target)
    names = getattr(target, "__globals__", {})
    holder = type("Holder", (), {"__annotations__": {item.name: item.annotation}})
    return get_type_hints(holder, globalns=names, localns=_enclosing(target), include_extras=True)[item.name]


def innermost(function: Any) -> Any:
    """Return what a `functools.partial` calls; any other function itself."""
    while hasattr(function, "func") and not inspect.isroutine(function):
        function = function.func
    return function


def _types_in(found: Any) -> list[type]:
    """The class that the hint is, or those of its union."""
    parts = get_args(found) if get_origin(found) in (Union, UnionType) else (found,)
    return [part for part in parts if isinstance(part, type)]


def _enclosing(function: Any) -> dict[str, Any]:
    """Return what the function took from the function around it."""
    return dict(inspect.getclosurevars(function).nonlocals) if inspect.isfunction(function) else {}
