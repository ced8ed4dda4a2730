"""Values that are kept or sent as JSON objects, and the two helpers that their encodings share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class JsonValue:
    """A frozen value with one JSON form, which stands beside it; whoever reads it again knows the class."""

    __slots__ = ()

    def as_json(self) -> Json:
        """The value as it is kept."""
        raise NotImplementedError


def given(**fields: object) -> Json:
    """Return the fields that have a value, in their order."""
    return {name: value for name, value in fields.items() if value is not None}


def unknown_keys(found: Mapping[str, Any], known: tuple[str, ...]) -> Json:
    """Return what `found` has beside the `known` keys: a newer version has written it, and it is kept."""
    return {name: value for name, value in found.items() if name not in known}
