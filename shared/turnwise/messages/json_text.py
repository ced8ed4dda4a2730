"""JSON objects at the top level of prose, with the mistakes that models make repaired."""

from __future__ import annotations

import ast
import json
from typing import Any

from turnwise.base.json_bounds import is_too_deep

# Levels of nesting. Python 3.11 reads less than a thousand, later versions many more; all are to read the same.
_DEEPEST = 500

_decoder = json.JSONDecoder(strict=False)


def json_objects(text: str) -> list[dict[str, Any]]:
    """The objects written at the top level of `text`, in order; objects inside other objects are not listed.

    Valid JSON is read as it is. A balanced `{...}` that is nearly JSON (single quotes, trailing commas, Python
    literals, unquoted words) is repaired. Anything else is prose, and so is an object nested deeper than 500 levels.
    """
    return [value for value, _, _ in located_json_objects(text)]


def located_json_objects(text: str) -> list[tuple[dict[str, Any], int, int]]:
    """The same, each with the half-open range `[start, end)` that it takes up in `text`."""
    found: list[tuple[dict[str, Any], int, int]] = []
    scan = ObjectScan(text)
    at = 0
    while (item := scan.first(at, len(text))) is not None:
        found.append(item)
        at = item[2]
    return found


class ObjectScan:
    """Reads objects one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Needed for what is no JSON alone.
        self._braces: _Braces | None = None

    def first(self, at: int, before: int) -> tuple[dict[str, Any], int, int] | None:
        """The first object that begins in `[at, before)`, with its range; it may end behind that."""
        text = self._text
        at = text.find("{", at, before)
        while at != -1:
            end = -1
            if self._braces is None or not self._braces.known_open(at):
                value, end = self._object_at(at)
                if isinstance(value, dict) and not is_too_deep(value, text[at:end], _DEEPEST):
                    return value, at, end
            # An unbalanced brace is prose; whatever follows it may still hold an object.
            at = text.find("{", end if end > at else at + 1, before)
        return None

    def _object_at(self, start: int) -> tuple[Any, int]:
        """Return what the brace at `start` begins, and where that ends; None for prose, -1 where it never ends."""
        text = self._text
        try:
            return _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # no JSON, or nested deeper than this version of Python reads
            if self._braces is None:
                self._braces = _Braces(text)
            end = self._braces.end_of(start)
            return (_repaired(text[start:end]), end) if end > start else (None, -1)


# Escaped quotes can make each scan see other strings than the one before; no honest text needs more scans than this.
_MAX_VAIN_SCANS = 16


class _Braces:
    """The places of closing braces, with quotes read from the brace that was asked about.

    A scan that finds no end tells as much of every brace that it met outside of strings, so that a long text of open
    braces takes time in proportion to its length.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: set[int] = set()
        self._vain_scans = 0

    def known_open(self, start: int) -> bool:
        """Return whether the brace at `start` is known never to close."""
        return start in self._open or self._vain_scans >= _MAX_VAIN_SCANS

    def end_of(self, start: int) -> int:
        """Return where the brace at `start` closes (exclusive), or -1; braces in double-quoted strings do not count."""
        text, pending, quoted, at = self._text, [start], False, start + 1
        while at < len(text):
            char = text[at]
            if quoted:
                if char == "\\":
                    at += 1
                elif char == '"':
                    quoted = False
            elif char == '"':
                quoted = True
            elif char == "{":
                pending.append(at)
            elif char == "}":
                pending.pop()
                if not pending:
                    return at + 1
            at += 1
        self._open.update(pending)
        self._vain_scans += 1
        return -1


def _repaired(text: str) -> dict[str, Any] | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # Loaded only when a model wrote something broken.
        from json_repair import repair_json

        try:
            value = repair_json(text, return_objects=True)
        except (ValueError, RecursionError):  # nested deeper than it reads
            return None
    if not isinstance(value, dict):
        return None
    try:  # a literal may hold what JSON cannot: sets, bytes, keys that are no strings
        json.dumps(value)
    except (TypeError, ValueError):
        return None
    return {str(key): item for key, item in value.items()}
