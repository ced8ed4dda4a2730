"""Shallow copies as `copy.copy` makes them, in a few calls: served runs make several for each answer."""

from __future__ import annotations

from copy import copy
from copyreg import dispatch_table
from typing import Any, TypeVar

from pydantic import BaseModel

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_OWN = ("__new__", "__reduce__", "__getstate__")
_HOOKS = ("__copy__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")


def copies_plainly(kind: type[Any], reduce: Any = object.__reduce_ex__) -> bool:
    """Return whether a copy of the class's objects is a new object with the same `__dict__`, and nothing else.

    So it is where the class has none of the hooks of `copy.copy`, or only `reduce` of them, which the caller knows.
    """
    return (
        kind.__reduce_ex__ is reduce
        and all(getattr(kind, name) is getattr(object, name) for name in _OWN)
        and not any(hasattr(kind, name) for name in _HOOKS)
        and kind not in dispatch_table
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
    )


def bare_copy(value: T) -> T:
    """Return a new object with the same `__dict__`; right for those whose class `copies_plainly`."""
    made = object.__new__(type(value))
    made.__dict__.update(value.__dict__)
    return made


def copied_model(model: M) -> M:
    """Return a shallow copy of a model."""
    kind = type(model)
    if kind.__copy__ is not BaseModel.__copy__ or model.__pydantic_private__:
        return copy(model)
    made, extra = kind.__new__(kind), model.__pydantic_extra__
    object.__setattr__(made, "__dict__", dict(model.__dict__))
    object.__setattr__(made, "__pydantic_fields_set__", set(model.__pydantic_fields_set__))
    object.__setattr__(made, "__pydantic_extra__", None if extra is None else dict(extra))
    object.__setattr__(made, "__pydantic_private__", None)
    return made
