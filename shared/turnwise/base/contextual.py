"""Context variables that have a value for the length of a block."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Generic, TypeVar

T = TypeVar("T")


class Bound(Generic[T]):
    """`with Bound(variable, value)`: the variable has that value in the block, and its own one again after it.

    A class, because blocks of it are around every answer, and a generator's block costs four times as much.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._token: Token[T] = self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)
