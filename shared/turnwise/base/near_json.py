"""JSON with the mistakes that models make most, read exactly: nothing is guessed, and nothing left out."""

from __future__ import annotations

import json
import re
from typing import Any

# Each string as a whole, so that what it holds is no token; one that does not end goes to the end of the text, so that
# no character is looked at from more than one quote. A comma trails behind an item alone.
_TOKEN = re.compile(
    r"""
      "(?:[^"\\]|\\.)*(?:"|\\?\Z)
    | '(?:[^'\\]|\\.)*(?:'|\\?\Z)
    | [{\[]\s*,
    | ,(?=\s*[}\]])
    | \b(?:True|False|None)\b
    """,
    re.DOTALL | re.VERBOSE,
)
_IN_SINGLE_QUOTES = re.compile(r'\\.|"', re.DOTALL)
_AS_JSON = {",": "", "True": "true", "False": "false", "None": "null"}

_decoder = json.JSONDecoder(strict=False)


def read_near_json(text: str) -> Any:
    """Return the value that the whole text is.

    It may have single quotes, trailing commas, Python's True, False and None, and line ends within strings. Raises
    `ValueError` for anything else, `RecursionError` for what is nested deeper than this Python reads. The time it takes
    is in proportion to the length of the text.
    """
    try:
        return _decoder.decode(text)
    except ValueError:
        return _decoder.decode(_TOKEN.sub(_json_token, text))


def _json_token(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] != "'":
        return _AS_JSON.get(token, token)
    return '"' + _IN_SINGLE_QUOTES.sub(_json_character, token[1:-1]) + '"'


def _json_character(found: re.Match[str]) -> str:
    written = found[0]
    return "'" if written == "\\'" else '\\"' if written == '"' else written
