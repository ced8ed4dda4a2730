"""Signals in an answer's text that send it, or the pending message, somewhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from turnwise.messages.signals import PASS, PASS_TO, SEND_TO


@dataclass(frozen=True, slots=True)
class Route:
    """`is_pass`: the pending message continues, to `recipient` if named. Else `text` goes to `recipient`."""

    is_pass: bool
    recipient: str = ""
    text: str = ""


def has_signal(text: str, addressing_prefix: str) -> bool:
    """Return whether there is any signal in `text`."""
    return PASS in text or SEND_TO in text or (bool(addressing_prefix) and addressing_prefix in text)


def read_route(text: str, addressing_prefix: str, *, only_at_start: bool) -> Route | None:
    """The routing instruction in `text`, or None.

    A plain `__PASS__` wins; then `__PASS__:name`; then the last `__SEND__:name text` or, with a prefix,
    `<prefix>name text`. What stands before the last one is dropped. `only_at_start` is for texts that are attempts at
    a tool: their fields may hold anything.
    """
    if not has_signal(text, addressing_prefix):
        return None
    signals = (PASS, SEND_TO, addressing_prefix) if addressing_prefix else (PASS, SEND_TO)
    # ROUTE-7
    if only_at_start and not text.lstrip().startswith(signals):
        return None
    # ROUTE-1, ROUTE-2
    if PASS in text and PASS_TO not in text:
        return Route(is_pass=True)
    # ROUTE-3
    if PASS_TO in text:
        name, _ = _last_addressed(text, PASS_TO)
        return Route(is_pass=True, recipient=name)
    for prefix in (SEND_TO, addressing_prefix):
        if prefix and prefix in text:
            name, rest = _last_addressed(text, prefix)
            # ROUTE-5
            if name:
                return Route(is_pass=not rest, recipient=name, text=rest)
    return None


@lru_cache(maxsize=64)
def _pattern(prefix: str) -> re.Pattern[str]:
    # A signal may stand apart from its name. A prefix such as "@" may not, because a lonely one is only text.
    # ROUTE-6
    gap = r"\s*" if prefix in (SEND_TO, PASS_TO) else ""
    # ROUTE-9
    return re.compile(re.escape(prefix) + gap + r"([\w\-]+)[,.:;!?]*")


def _last_addressed(text: str, prefix: str) -> tuple[str, str]:
    """The name after the last `prefix`, and the text after it, without the punctuation that ends the name."""
    matches = list(_pattern(prefix).finditer(text))
    if not matches:
        return "", ""
    # ROUTE-4
    last = matches[-1]
    return last.group(1), text[last.end() :].strip()
