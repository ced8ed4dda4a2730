"""JSON objects at the top level of prose, with the mistakes that models make repaired."""

from __future__ import annotations

import ast
import json
from typing import Any

from turnwise.base.json_bounds import is_too_deep
from turnwise.base.near_json import read_near_json

# Levels of nesting. Python 3.11 reads less than a thousand, later versions many more; all are to read the same.
_DEEPEST = 500

_decoder = json.JSONDecoder(strict=False)


def json_objects(text: str) -> list[dict[str, Any]]:
    """The objects written at the top level of `text`, in order; objects inside other objects are not listed.

    Valid JSON is read as it is. A balanced `{...}` that is nearly JSON (single quotes, trailing commas, Python
    literals, unquoted words) is repaired. Anything else is prose, and so is an object nested deeper than 500 levels, or
    one that would take too long to repair. No text raises.
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
        self._meter: _Meter | None = None

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
        if self._braces is None or self._meter is None:
            try:
                return _decoder.raw_decode(text, start)
            except (ValueError, RecursionError):  # no JSON, or nested deeper than this version of Python reads
                # Such an error counts the lines before it. From here on the object's end is found first, and only the
                # object read, so that many errors take time in proportion to the length of the text.
                self._braces, self._meter = _Braces(text), _Meter()
        end = self._braces.end_of(start)
        return (_repaired(text[start:end], self._meter), end) if end > start else (None, -1)


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


# What a text may cost that is guessed at, in characters looked at. An honest one takes up to four looks at each of its
# characters; some that are not take a number that grows with the cube of their length.
_MOST_LOOKS = 200_000
_HONEST_LOOKS = 4
# What Python's own reader takes for each character, and each attempt for itself, as looks.
_LITERAL_LOOKS = 2
_ATTEMPT_LOOKS = 100


class _TooManyLooksError(Exception):
    pass


class _Meter:
    """The looks that are left for one text, however many objects it holds."""

    def __init__(self) -> None:
        self.left = _MOST_LOOKS

    def spend(self, looks: int) -> None:
        """Count them; raises `_TooManyLooksError` if there are not as many left."""
        self.left -= looks
        if self.left < 0:
            raise _TooManyLooksError


class _MeteredText(str):
    """A text that counts what is looked at, in itself and in parts of it that are put together again."""

    __slots__ = ("_meter",)
    _meter: _Meter

    @classmethod
    def of(cls, text: str, meter: _Meter) -> _MeteredText:
        metered = cls(text)
        metered._meter = meter
        return metered

    def __getitem__(self, key: Any) -> str:
        found = super().__getitem__(key)
        self._meter.spend(len(found))
        return found if len(found) < 2 else _MeteredText.of(found, self._meter)

    def __add__(self, other: str) -> str:
        return _MeteredText.of(super().__add__(other), self._meter)


def _repaired(text: str, meter: _Meter) -> dict[str, Any] | None:
    try:
        value = read_near_json(text)
    except (ValueError, RecursionError):
        value = _guessed(text, meter)
    if not isinstance(value, dict):
        return None
    try:  # a literal may hold what JSON cannot: sets, bytes, keys that are no strings, numbers too long to be written
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return {str(key): item for key, item in value.items()}


def _guessed(text: str, meter: _Meter) -> Any:
    """Return what the text seems to mean, None for prose and for what would take too long."""
    if _ATTEMPT_LOOKS + len(text) * _HONEST_LOOKS > meter.left:
        return None
    meter.spend(_ATTEMPT_LOOKS + len(text) * _LITERAL_LOOKS)
    try:
        return ast.literal_eval(text)
    # All that it is documented to raise: TypeError is for sets and dicts of what cannot be hashed, such as `{{}}`.
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    # Loaded only when a model wrote something broken.
    from json_repair import repair_json

    try:
        # Written once more, so that no part of it is a text that counts.
        return json.loads(json.dumps(repair_json(_MeteredText.of(text, meter), return_objects=True)))
    # It tries one rule after the other on any text, and where none of them fits it fails with what its code happens to
    # raise there (AssertionError, IndexError, RecursionError): that says nothing but that the text is prose.
    except Exception:  # noqa: BLE001
        return None
