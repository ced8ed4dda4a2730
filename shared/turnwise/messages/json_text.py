"""JSON objects at the top level of prose, with the mistakes that models make repaired."""

from __future__ import annotations

import ast
import json
from typing import Any

_decoder = json.JSONDecoder(strict=False)


def json_objects(text: str) -> list[dict[str, Any]]:
    """The objects written at the top level of `text`, in order; objects inside other objects are not listed.

    Valid JSON is read as it is. A balanced `{...}` that is nearly JSON (single quotes, trailing commas, Python
    literals, unquoted words) is repaired; anything else is prose.
    """
    return [value for value, _, _ in located_json_objects(text)]


def located_json_objects(text: str) -> list[tuple[dict[str, Any], int, int]]:
    """The same, each with the half-open range `[start, end)` that it takes up in `text`."""
    found: list[tuple[dict[str, Any], int, int]] = []
    at = text.find("{")
    while at != -1:
        try:
            value, end = _decoder.raw_decode(text, at)
        except ValueError:
            end = _balanced_end(text, at)
            value = _repaired(text[at:end]) if end > at else None
        if isinstance(value, dict):
            found.append((value, at, end))
        # An unbalanced brace is prose; whatever follows it may still hold an object.
        at = text.find("{", end if end > at else at + 1)
    return found


def _balanced_end(text: str, start: int) -> int:
    """Where the brace opened at `start` closes (exclusive), or -1; braces inside double-quoted strings do not count."""
    depth, quoted, at = 0, False, start
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
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1


def _repaired(text: str) -> dict[str, Any] | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # Loaded only when a model wrote something broken.
        from json_repair import repair_json

        value = repair_json(text, return_objects=True)
    if not isinstance(value, dict):
        return None
    try:  # a literal may hold what JSON can not: sets, bytes, keys that are no strings
        json.dumps(value)
    except (TypeError, ValueError):
        return None
    return {str(key): item for key, item in value.items()}
