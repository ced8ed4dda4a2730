"""The context of a call: who pays for it, what cancels it, who counts its tries, and what else surrounds it.

It is one value. Library code hands it on as a parameter. Where code of a program stands between two calls of the
library (a handler, an override, a model's class, a callback) no parameter can carry it, so it is in a context variable
as well, the only one for all of its parts. A plain thread has none of it, unless it is run in a copy of the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

from turnwise.base.contextual import Bound

T = TypeVar("T")


class CallPart(Generic[T]):
    """The key of one part of the context, declared by the room that knows its type, with the default."""

    __slots__ = ("default",)

    def __init__(self, default: T) -> None:
        self.default = default


class CallContext:
    """The parts that were set around a call. It is never changed: `but` returns another one."""

    __slots__ = ("_parts",)

    def __init__(self, parts: dict[CallPart[Any], Any] | None = None) -> None:
        self._parts = parts or {}

    def __getitem__(self, part: CallPart[T]) -> T:
        value: T = self._parts.get(part, part.default)
        return value

    def but(self, part: CallPart[T], value: T) -> CallContext:
        """Return the same context with another value of one part."""
        return CallContext({**self._parts, part: value})

    def having(self, parts: Mapping[CallPart[Any], Any]) -> CallContext:
        """Return the same context with other values of several parts."""
        return CallContext({**self._parts, **parts})

    def open(self) -> Bound[CallContext]:
        """Make it the current one until the block is left."""
        return Bound(_current, self)


_current: ContextVar[CallContext] = ContextVar("turnwise_call", default=CallContext())  # noqa: B039 - never changed


def current_call() -> CallContext:
    """Return the context of the call that is being made here; outside of any, one without a part."""
    return _current.get()


def enter(call: CallContext) -> Token[CallContext]:
    """Make it the current one until `leave` is given the token; for blocks that are objects of their own."""
    return _current.set(call)


def leave(outer: Token[CallContext]) -> None:
    """Make the context current again that was so before `enter`."""
    _current.reset(outer)


def under(part: CallPart[T], value: T) -> Bound[CallContext]:
    """Let calls be made with that part until the block is left."""
    return Bound(_current, _current.get().but(part, value))
