"""Texts: of any value, on one line of a table, quoted in part, and safe to look at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any


def value_as_text(value: Any) -> str:
    """A value as text: strings as they are, what JSON can express as JSON, the rest by `str`; "" for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump_json") and not isinstance(value, type):
        return str(value.model_dump_json())
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError):
        return str(value)


def _plain(value: Any) -> Any:
    """The plain data of a model within the value.

    Not of a tool, nor of what looks like one in JSON: it would be found in the text, and handled.
    """
    if hasattr(value, "model_dump") and not isinstance(value, type) and not hasattr(value, "request"):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} is no JSON")


def tsv_field(text: str) -> str:
    """The text as one field of a line: tabs, line ends and backslashes become backslash escapes.

    They are those of PostgreSQL's COPY in text format, and can be undone.
    """
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")


# Control characters (a terminal obeys them) but for tab and line end, marks that turn the direction of what follows,
# and halves of surrogate pairs, which no encoding has bytes for.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
LINE = 160


def visible(text: str) -> str:
    """The text with what cannot be seen as an escape such as \\x1b; every line end is a newline."""
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    return _UNSEEN.sub(_escape, text)


def on_one_line(text: str) -> str:
    """The visible text on a single line: line ends and tabs are escapes, too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """The value as JSON that can be read and is safe to look at: what cannot be seen is an escape such as \\u009b."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=default)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def first_line(text: str, width: int = LINE) -> str:
    """The beginning of the text on one line of at most `width` characters."""
    # So many words are longer than a line, and of a long text the rest is not taken apart.
    line = " ".join(text.split(None, width + 1)[: width + 1])
    return line if len(line) <= width else f"{line[: max(width - 1, 0)]}…"


def excerpt(text: str, most: int = 200) -> str:
    """Up to `most` characters of a text of any length, to be quoted; "…" follows where there is more."""
    return text if len(text) <= most else text[:most] + "…"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
