"""Types of fields from a JSON schema: as much as tells wrong values from right ones, the server checks the rest."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, Union

Schema = Mapping[str, Any]

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    # An integer stays one, because as a float a large one would lose digits.
    "number": int | float,
    "boolean": bool,
    "object": dict[str, Any],
    "null": NoneType,
}


def type_of(schema: Any) -> Any:
    """The Python type of a value; `Any` where the schema says more than a type."""
    if not isinstance(schema, Mapping):
        return Any
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if choices and all(isinstance(choice, str | int | bool | NoneType) for choice in choices):
        return Literal[tuple(choices)]
    parts = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(parts, list):
        return _any_of([type_of(part) for part in parts])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([type_of({**schema, "type": part}) for part in kind])
    if kind == "array":
        return list[type_of(schema.get("items"))]  # type: ignore[misc]
    return _TYPES.get(str(kind), Any)


def _any_of(types: list[Any]) -> Any:
    return Any if not types or Any in types else Union[tuple(types)]  # noqa: UP007 - of types not known before
