"""Errors as the record keeps them: of runs, replies, deferrals and parked asks.

The API shows them, and filters choose runs by their parts, so the names, the order and the nulls of their JSON stay as
they are. `as_json` is the one place where an error becomes JSON. Its texts are such as each database reads out of JSON:
with U+FFFD for a NUL, and a question mark for half of a surrogate pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from turnwise.base.json_bounds import storable
from turnwise.base.json_value import Json, JsonValue, given


@dataclass(frozen=True, kw_only=True, slots=True)
class RaisedError(JsonValue):
    """An exception: its class, where it was raised (`place`, `line`), and the tool whose handler raised it.

    `kind` and `model` are those of a failed call of a model, which is named also if it is not known. `version` is that
    of the application which continued with a run of another one.
    """

    type: str
    message: str
    place: str | None = None
    line: str | None = None
    tool: str | None = None
    code: str | None = None
    kind: str | None = None
    model: str | None = None
    version: str | None = None
    # The call was one of a model: then `model` is kept also where it is None.
    of_model: bool = False

    def as_json(self) -> Json:
        """The error as it is kept."""
        made: Json = {"type": self.type, "message": self.message}
        made |= given(place=self.place, line=self.line, tool=self.tool, code=self.code, kind=self.kind)
        made |= {"model": self.model} if self.of_model else given(model=self.model)
        return _storable(made | given(version=self.version))

    def shown(self) -> Json:
        """The error in short, for what waits because of it."""
        return _storable({"type": self.type} | given(code=self.code) | {"message": self.message})


@dataclass(frozen=True, kw_only=True, slots=True)
class CodedError(JsonValue):
    """An error that Turnwise found without an exception: a `code`, and the class of error that it stands for."""

    code: str
    message: str
    type: str | None = None
    kind: str | None = None
    place: str | None = None
    tool: str | None = None

    def as_json(self) -> Json:
        """The error as it is kept."""
        made = given(type=self.type) | {"code": self.code} | given(kind=self.kind)
        return _storable(made | {"message": self.message} | given(place=self.place, tool=self.tool))


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedCall(JsonValue):
    """A call that was not made, because of a limit; `value`, `used` and `why` are null where they say nothing."""

    type: str
    message: str
    limit: str
    scope: str
    value: Any = None
    used: Any = None
    why: Any = None

    def as_json(self) -> Json:
        """The error as it is kept."""
        made: Json = {"type": self.type, "message": self.message, "limit": self.limit, "scope": self.scope}
        return _storable(made | {"value": self.value, "used": self.used, "why": self.why})


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptError(JsonValue):
    """An error that was read from the record; it is kept again as it was found, whichever version has written it."""

    found: Mapping[str, Any]

    @property
    def type(self) -> str | None:
        """The class of the error."""
        return self.found.get("type")

    @property
    def code(self) -> str | None:
        """The code of the error."""
        return self.found.get("code")

    @property
    def message(self) -> str:
        """The text of the error."""
        return self.found.get("message") or ""

    @property
    def kind(self) -> str | None:
        """The kind of a failed call of a model."""
        return self.found.get("kind")

    @property
    def place(self) -> str | None:
        """The part of the run in which it was raised."""
        return self.found.get("place")

    @property
    def tool(self) -> str | None:
        """The tool whose handler raised it."""
        return self.found.get("tool")

    @property
    def version(self) -> str | None:
        """The version of the application that continued with a run of another one."""
        return self.found.get("version")

    def as_json(self) -> Json:
        """The error as it is kept."""
        return _storable(self.found)


def _storable(error: Mapping[str, Any]) -> Json:
    return {name: storable(item) if isinstance(item, str) else item for name, item in error.items()}


RunError: TypeAlias = RaisedError | CodedError | RefusedCall | KeptError


def kept_error(found: Mapping[str, Any] | None) -> KeptError | None:
    """Read a value as it is kept."""
    return None if found is None else KeptError(found=found)
