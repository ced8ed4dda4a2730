"""Signatures and documentation of methods that are made of operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def as_method_of(operation: Callable[..., Any], result: Callable[[str], str]) -> Callable[[F], F]:
    """Give a method the name, the documentation and the parameters of the operation, behind `self`.

    `result` makes the name of the type that the method returns of the operation's.
    """

    def dress(method: F) -> F:
        own = inspect.signature(operation)
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        shown = own.replace(
            parameters=[itself, *own.parameters.values()], return_annotation=result(str(own.return_annotation))
        )
        update_wrapper(method, operation)
        method.__signature__ = shown  # type: ignore[attr-defined]  # what inspect looks at first
        return method

    return dress


def answer(returned: str) -> str:
    """Return T for Request[T]."""
    return returned.removeprefix("Request[").removesuffix("]")


def item(returned: str) -> str:
    """Return T for Request[Page[T]]."""
    return returned.removeprefix("Request[Page[").removesuffix("]]")
