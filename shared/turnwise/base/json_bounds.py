"""The bounds of all JSON that enters: by HTTP, from a model, from a handler, from a broker.

They lie below what every reader can take: the serializer of the HTTP API stops at 255 levels, PostgreSQL and Python's
own encoder at about a thousand, a reader in JavaScript knows no larger number than a double.

| | entering | stored |
| --- | --- | --- |
| levels of nesting | `MAX_DEPTH` | `MAX_STORED_DEPTH`, because marks and envelopes are put around what entered |
| values of all levels | `MAX_VALUES` | as many as entered |
| numbers | finite, magnitude below `MAX_NUMBER` | the same |
| text | no half of a surrogate pair | escaped |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 64
MAX_STORED_DEPTH = 200
MAX_VALUES = 100_000
MAX_NUMBER = 10**308
# Bytes of JSON that are kept of the attributes of one agent or task: they are written whole when one changes.
MAX_ATTRIBUTES = 1_000_000
_CUT = "(nested too deep to be shown)"


def fault_in(value: Any, max_depth: int = MAX_DEPTH) -> str | None:
    """Say what is wrong with a JSON value, None if it can be taken; never recurses, so that no depth can break it."""
    seen = 0
    level: list[Any] = [value]
    for _ in range(max_depth + 1):
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if (kind is str and item.isascii()) or (kind is int and -MAX_NUMBER < item < MAX_NUMBER):
                continue
            if kind is bool or item is None:
                continue
            if (fault := _opened(item, kind, inner)) is not None:
                return fault
        seen += len(inner)
        if seen > MAX_VALUES:
            return f"it holds more than {MAX_VALUES} values; send less"
        if not inner:
            return None
        level = inner
    return f"it is nested deeper than {max_depth} levels; make it flatter, or send it as text"


def is_too_deep(value: Any, text: str, max_depth: int = MAX_STORED_DEPTH) -> bool:
    """Return whether a value is nested deeper than that; `text` is its JSON, whose brackets settle most cases."""
    if text.count("{") + text.count("[") <= max_depth:
        return False
    level: list[Any] = [value]
    for _ in range(max_depth + 1):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return False
    return True


def cut(value: Any, max_depth: int = MAX_STORED_DEPTH) -> Any:
    """The value without what is nested deeper than that; a text stands in its place."""
    if isinstance(value, Mapping):
        return {key: cut(item, max_depth - 1) for key, item in value.items()} if max_depth > 0 else _CUT
    if isinstance(value, (list, tuple)):
        return [cut(item, max_depth - 1) for item in value] if max_depth > 0 else _CUT
    return value


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can express the text, which has no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_unicode(text: str) -> str:
    """The text with each half of a surrogate pair replaced by a question mark."""
    return text if is_unicode(text) else text.encode(errors="replace").decode()


def storable(text: str) -> str:
    """The text as every database keeps it: U+FFFD for each NUL, a question mark for each half of a surrogate pair."""
    return as_unicode(text.replace("\0", "\ufffd"))


def _opened(item: Any, kind: type[Any], inner: list[Any]) -> str | None:
    """Add what the item holds to `inner`, or say what is wrong with it."""
    # By exact type first: every turn's JSON comes here, and a check against an abstract class takes longest of all.
    if kind is dict:
        values: Mapping[Any, Any] = item
    elif kind is list:
        inner += item
        return None
    elif kind is str or kind is int or kind is float:
        return _fault_of(item)
    elif isinstance(item, Mapping):
        values = item
    else:
        if isinstance(item, (list, tuple)):
            inner += item
        return _fault_of(item)
    for key in values:
        if isinstance(key, str) and not key.isascii() and not is_unicode(key):
            return "a name in it is half of a surrogate pair; send valid Unicode"
    inner += values.values()
    return None


def _fault_of(item: Any) -> str | None:
    if isinstance(item, str):
        return None if is_unicode(item) else "half of a surrogate pair is no text; send valid Unicode"
    if isinstance(item, float) and not math.isfinite(item):
        return "NaN and infinite numbers are not JSON"
    if isinstance(item, int) and not -MAX_NUMBER < item < MAX_NUMBER:
        return "a number in it has more than 308 digits; send it as text"
    return None


def _inner(item: Any) -> Any:
    if isinstance(item, Mapping):
        return item.values()
    return item if isinstance(item, (list, tuple)) else ()
