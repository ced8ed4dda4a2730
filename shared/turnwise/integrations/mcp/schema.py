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
    choices = _choices(schema)
    if choices and all(isinstance(choice, str | int | bool | NoneType) for choice in choices):
        return Literal[tuple(choices)]
    parts = _parts(schema)
    if isinstance(parts, list):
        return _any_of([type_of(part) for part in parts])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([type_of({**schema, "type": part}) for part in kind])
    if kind == "array":
        return list[type_of(schema.get("items"))]  # type: ignore[misc]
    return _TYPES.get(str(kind), Any)


def allows_null(schema: Any) -> bool:
    """Return whether null is a value that the schema allows; False where only its references tell."""
    if not isinstance(schema, Mapping):
        return schema is True
    choices, parts, kind = _choices(schema), _parts(schema), schema.get("type")
    if choices is not None:
        return None in choices
    if isinstance(parts, list):
        return any(allows_null(part) for part in parts)
    if kind is None:
        return schema.keys().isdisjoint(("$ref", "$dynamicRef", "allOf", "not"))
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _choices(schema: Schema) -> Any:
    return schema.get("enum", [schema["const"]] if "const" in schema else None)


def _parts(schema: Schema) -> Any:
    return schema.get("anyOf", schema.get("oneOf"))


def _any_of(types: list[Any]) -> Any:
    return Any if not types or Any in types else Union[tuple(types)]  # noqa: UP007 - of types not known before
