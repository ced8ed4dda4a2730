"""Numbers that JSON cannot express, in models that were read from JSON: pydantic reads the text "NaN" as a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from turnwise.base.json_bounds import NOT_FINITE
from turnwise.messages.bare_schema import schemas


def number_fault(model: BaseModel) -> str | None:
    """Say that a number of the model is not finite, so that it could not be kept; None if all are."""
    if not _has_floats(type(model)):  # as nearly always
        return None
    return None if all(map(math.isfinite, _floats(model))) else NOT_FINITE


@lru_cache(maxsize=4_096)
def _has_floats(kind: type[BaseModel]) -> bool:
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    return any(schema["type"] == "float" for schema in schemas(kind.__pydantic_core_schema__))


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
        return
    inner: Any = ()
    if isinstance(value, BaseModel):
        inner = vars(value).values()
    elif isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    for item in inner:
        yield from _floats(item)
