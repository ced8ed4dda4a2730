"""The names under which a model writes the fields of a tool: those that validation takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo


def written_name(name: str, info: FieldInfo) -> str:
    """Return the name of a field as its class wants it written: the alias, the first of several, or its own."""
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        alias = alias.choices[0]
    return alias if isinstance(alias, str) else name


@lru_cache(maxsize=4_096)
def written_names(kind: type[BaseModel]) -> frozenset[str]:
    """Return all names of the fields of a class, with their aliases."""
    names = set(kind.model_fields)
    for info in kind.model_fields.values():
        alias = info.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        names.update(choice for choice in choices if isinstance(choice, str))
    return frozenset(names)


def as_written(value: Any, dumped: Any) -> Any:
    """Return `dumped`, which is the JSON of `value` by the names of fields, with the names that are written."""
    if isinstance(value, BaseModel) and isinstance(dumped, dict):
        fields = type(value).model_fields
        return {
            written_name(name, fields[name]) if name in fields else name: as_written(getattr(value, name, None), item)
            for name, item in dumped.items()
        }
    if isinstance(value, dict) and isinstance(dumped, dict) and len(value) == len(dumped):
        pairs = zip(value.values(), dumped.items(), strict=True)
        return {key: as_written(inner, item) for inner, (key, item) in pairs}
    if isinstance(value, (list, tuple)) and isinstance(dumped, list) and len(value) == len(dumped):
        return [as_written(inner, item) for inner, item in zip(value, dumped, strict=True)]
    return dumped
