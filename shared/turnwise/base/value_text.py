"""Any value as text."""

from __future__ import annotations

import json
from typing import Any


def value_as_text(value: Any) -> str:
    """A value as text: strings as they are, what JSON can express as JSON, the rest by `str`; "" for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump_json"):
        return str(value.model_dump_json())
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return str(value)


def tsv_field(text: str) -> str:
    """The text as one field of a line: tabs, line ends and backslashes become backslash escapes.

    They are those of PostgreSQL's COPY in text format, and can be undone.
    """
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")
