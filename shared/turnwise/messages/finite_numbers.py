"""Numbers that JSON cannot express, in models that were read from JSON: pydantic reads the text "NaN" as a number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from turnwise.messages.bare_schema import schemas

Place = tuple[int | str, ...]
# Such a text is read as a number only as a whole.
_TEXT = re.compile(r"\s*[+-]?(nan|inf(inity)?)\s*", re.IGNORECASE)
NOT_FINITE = "it is read as a number that JSON does not have; give a finite one"


def not_finite(model: BaseModel, given: Any) -> Place | None:
    """Return the place of a number in the model that is not finite, because `given`, which it was read from, said so.

    None if there is none: a default is the program's own.
    """
    if not _has_floats(type(model)) or not any(map(_is_text, _leaves(given, ()))):  # as nearly always
        return None
    return next(
        (place for place, value in _leaves(model, ()) if type(value) is float and not math.isfinite(value)), None
    )


@lru_cache(maxsize=4_096)
def _has_floats(kind: type[BaseModel]) -> bool:
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    return any(schema["type"] == "float" for schema in schemas(kind.__pydantic_core_schema__))


def _is_text(leaf: tuple[Place, Any]) -> bool:
    return isinstance(leaf[1], str) and _TEXT.fullmatch(leaf[1]) is not None


def _leaves(value: Any, place: Place, around: tuple[int, ...] = ()) -> Iterator[tuple[Place, Any]]:
    """Yield the values that hold no others, with their places; of models only fields that were given."""
    items: Any
    if isinstance(value, BaseModel):
        items = ((name, item) for name, item in vars(value).items() if name in value.model_fields_set)
    elif isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        items = enumerate(value)
    elif is_dataclass(value):
        items = vars(value).items()
    else:
        yield place, value
        return
    if id(value) in around:  # a validator may have made a circle
        return
    for name, item in items:
        yield from _leaves(item, (*place, name), (*around, id(value)))
