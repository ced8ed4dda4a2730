"""JSON of the record in a form that every client can read."""

from __future__ import annotations

import json

from turnwise.base.json_bounds import cut, is_too_deep
from turnwise.record.values.records import Json


def readable(value: Json) -> Json:
    """The object as it can be sent, also of a row that was kept before what enters was bounded.

    A model may have written half of a surrogate pair, which UTF-8 has no bytes for, or nested deeper than this API's
    serializer goes; what is deeper is cut off, with a text in its place.
    """
    text = json.dumps(value, ensure_ascii=False)
    if is_too_deep(value, text):
        return readable(cut(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        replaced: Json = json.loads(text.encode(errors="replace"))
        return replaced
    return value
