"""Attributes as they were at a moment, to go back to: the objects stay the same, and get their contents of then."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from pydantic import BaseModel

from turnwise.agents.attributes.template import Surveyor

_OF_A_MODEL = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


class Snapshot:
    """The attributes of `owner` that are not named in `own`, and the contents of all data in them.

    What JSON cannot express, such as a client, is left as it is.
    """

    def __init__(self, owner: object, own: Collection[str]) -> None:
        self._owner = owner
        self._own = own
        self._values = {name: value for name, value in vars(owner).items() if name not in own}
        surveyor = Surveyor(owner, {})
        for name, value in self._values.items():
            surveyor.attribute(name, value)
        self._put_back = [_contents(value) for value, _ in surveyor.places()]

    def restore(self) -> None:
        """Make the attributes what they were."""
        now = vars(self._owner)
        for name in [name for name in now if name not in self._own]:
            del now[name]
        now.update(self._values)
        for put_back in self._put_back:
            put_back()


def _contents(value: Any) -> Callable[[], None]:
    """Return a function that gives the value its contents of now."""
    if isinstance(value, dict):
        # The base's method: the update of a Counter adds.
        return partial(_refill, value, partial(dict.update, value), dict(value))
    if isinstance(value, set):
        return partial(_refill, value, value.update, set(value))
    if isinstance(value, (list, deque, bytearray)):
        return partial(_refill, value, value.extend, list(value))
    if isinstance(value, BaseModel):
        parts = {name: getattr(value, name, None) for name in _OF_A_MODEL}
        return partial(_reset, value, {name: _copy(part) for name, part in parts.items()})
    names = [each.name for each in dataclasses.fields(value)]
    held = {**{name: getattr(value, name) for name in names if hasattr(value, name)}, **getattr(value, "__dict__", {})}
    return partial(_reset, value, held)


def _refill(value: Any, fill: Callable[[Any], object], contents: Any) -> None:
    value.clear()
    fill(contents)


def _reset(value: Any, held: dict[str, Any]) -> None:
    # Frozen or validating classes would refuse it.
    for name, part in held.items():
        object.__setattr__(value, name, _copy(part) if name in _OF_A_MODEL else part)


def _copy(part: Any) -> Any:
    return part.copy() if isinstance(part, (dict, set)) else part
