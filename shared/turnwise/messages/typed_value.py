"""A value of a type that may have parameters, such as `list[int]`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import is_typeddict


def value_as(value: Any, wanted: Any) -> Any:
    """Return the value if it is of the type `wanted`, else None. A flag is no number.

    Where the type has parameters, what is in the value counts as well: `[1]` is no `list[str]`.
    """
    if isinstance(wanted, type) and get_origin(wanted) is None and not is_typeddict(wanted):
        # bool is an int to Python, but no one who asks for an int means a flag.
        return value if isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)) else None
    try:
        return adapter(wanted).validate_python(value, strict=True)
    except ValidationError:  # it has another type
        return None


@lru_cache(maxsize=256)
def adapter(wanted: Any) -> TypeAdapter[Any]:
    """Return what reads values of a type that is no plain class."""
    return TypeAdapter(wanted, config=None if is_typeddict(wanted) else ConfigDict(arbitrary_types_allowed=True))
