"""Texts that come as a list of parts, as some servers' reasoning models write them.

[{"type": "thinking", "thinking": [{"type": "text", "text": "..."}]}, {"type": "text", "text": "..."}]
"""

from __future__ import annotations

from typing import Any


def parts_of(content: Any) -> tuple[str, str]:
    """Return the text in the content of a message, and the reasoning in it; "" for what it does not have.

    Parts of other types, such as references, say nothing. Raises `TypeError` for what is no text and no list of parts.
    """
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise TypeError(f"a content of {type(content).__name__}")
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if part["type"] == "text":
            texts.append(_text(part["text"]))
        elif part["type"] == "thinking":
            thoughts.append(_text(part["thinking"]))
    return "".join(texts), "".join(thoughts)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(_text(part["text"]) for part in value if part["type"] == "text")
