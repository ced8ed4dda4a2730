"""Fingerprints of classes: whether a class still has the fields that it had when a value was stored."""

from __future__ import annotations

import dataclasses
import zlib
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from turnwise.base.places import place_of


def fingerprint(kind: type[Any]) -> int:
    """Return a number that changes when the fields of a dataclass or a pydantic model do."""
    known = _fingerprints.get(kind)
    if known is None:
        if issubclass(kind, BaseModel):
            fields = [f"{name}:{_told(field.annotation)}" for name, field in kind.model_fields.items()]
        else:
            fields = [f"{field.name}:{_told(field.type)}" for field in dataclasses.fields(kind)]
        known = _fingerprints[kind] = zlib.crc32("\n".join(fields).encode())
    return known


def _told(kind: Any) -> str:
    """The type as text that is the same in every process, without what may hold addresses: validators and functions."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _told(parts[0])
    if origin is Literal:
        return f"Literal{[part.name if isinstance(part, Enum) else part for part in parts]}"
    if origin is not None:
        return f"{_told(origin)}[{', '.join(map(_told, parts))}]"
    if isinstance(kind, list):  # of the arguments of a function
        return f"[{', '.join(map(_told, kind))}]"
    if isinstance(kind, type):
        return place_of(kind)
    named = kind if isinstance(kind, str) else getattr(kind, "__forward_arg__", None) or getattr(kind, "__name__", None)
    return str(named or type(kind).__qualname__)


_fingerprints: WeakKeyDictionary[type[Any], int] = WeakKeyDictionary()
