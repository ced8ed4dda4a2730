"""The words of the conversation that is measured: a count, one further in each round of model and tool.

The first message says how far. The model has no memory: it reads the tool's last result, so it says the same in every
way of running. Only the standard library is imported, because programs of other environments play it as well.
"""

from __future__ import annotations

import json
import re

DONE = "DONE"
_SEEN = re.compile(r"(\d+) of (\d+)")


def first_message(turns: int) -> str:
    """The message that makes a conversation of `turns` answers (an even number is one more)."""
    return f"0 of {turns // 2}"


def turns_of(turns: int) -> int:
    """Return the number of answers taken in it: two for each count, and the last word."""
    return turns // 2 * 2 + 1


def said(text: str) -> str:
    """Return what the model says to this text: a call of the tool, as JSON, or `DONE`."""
    found = _SEEN.search(text)
    n, limit = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    return DONE if n >= limit else f'{{"request": "count", "n": {n + 1}, "limit": {limit}}}'


def counted(n: int, limit: int) -> str:
    """Return the tool's result."""
    return f"{n} of {limit}"


def called(text: str) -> tuple[int, int] | None:
    """Return the arguments of the tool call in what the model said, None if it said `DONE`."""
    if text == DONE:
        return None
    call = json.loads(text)
    return int(call["n"]), int(call["limit"])


def content_bytes(turns: int) -> int:
    """Return the length of all texts of such a conversation: what has to be stored in any case."""
    text, total = first_message(turns), 0
    while True:
        total += len(text)
        answer = said(text)
        total += len(answer)
        call = called(answer)
        if call is None:
            return total
        text = counted(*call)
