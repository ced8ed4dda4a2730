"""The words that have a meaning inside a conversation.

A task reads these in message text when `TaskConfig.recognize_string_signals` is on; `NO_ANSWER` and the quit words
are read always.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from turnwise.base.call_context import CallPart, current_call
from turnwise.messages.json_text import located_json_objects

DONE = "DONE"
NO_ANSWER = "DO-NOT-KNOW"
PASS = "__PASS__"
PASS_TO = "__PASS__:"
SEND_TO = "__SEND__:"
# A prefix that no prose contains by accident; the recommended `TaskConfig.addressing_prefix`.
AT = "|@|"
# Prefixes that address someone in the answers of the runs around a call.
PREFIXES = CallPart[frozenset[str]](frozenset())
USER_QUIT_STRINGS = ("q", "x", "quit", "exit", "bye", DONE)
_SIGNALS = (DONE, PASS, SEND_TO, NO_ANSWER)
# Characters that JSON writes with a letter of their own.
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# The name is stripped afterwards: several parts that may all be blanks are tried in every way to share them out.
_ADDRESSED = re.compile(r"^\s*TO\s*\[([^\]]+)\]\s*:(.*)$", re.DOTALL)


# Tells whether a field `recipient` addresses: of an object whose `request` names that tool; None for one without.
Addresses = Callable[[str | None], bool]


def any_object(_request: str | None) -> bool:
    """Let each object address someone."""
    return True


def addressee(text: str, addresses: Addresses = any_object) -> tuple[str, str]:
    """Split an addressed text into (recipient, text): `TO[name]: text`, or JSON objects with a `recipient` field.

    Tools in XML may have it, too. All that are no data must agree on the recipient; the text stays whole then. ("",
    text) if no one is addressed.
    """
    match = _ADDRESSED.match(text)
    if match:
        return match.group(1).strip(), match.group(2).strip()
    if "recipient" in text:
        names: set[str] = set()
        if "{" in text:
            found = (item for item, _, _ in located_json_objects(text))
            names = {str(item.get("recipient") or "") for item in found if addresses(_request(item))}
        elif "<recipient>" in text:
            from turnwise.messages.xml.parsing import recipients

            names = recipients(text, addresses)
        if len(names) == 1:
            return names.pop(), text
    return "", text


def _request(fields: Mapping[str, Any]) -> str | None:
    request = fields.get("request")
    return None if request is None else str(request)


def escape_signals(text: str) -> str:
    """Return a JSON text, or prose for a model, in which no task around the call reads a signal.

    The first character of each is written as an escape of JSON, such as `\\u0044ONE`: JSON means the same, and a
    model that copies it into a tool writes the word itself.
    """
    prefixes = current_call()[PREFIXES]
    signals = (*_SIGNALS, *sorted(prefixes))
    # The rest of a signal is only looked at, because another one may begin within it.
    begins = "|".join(f"{re.escape(signal[0])}(?={re.escape(signal[1:])})" for signal in signals)
    return re.sub(rf"(?<!\\)(\\*)({begins})", _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    before, first = found.groups()
    if len(before) % 2:  # the signal begins within an escape
        before, first = before[:-1], _SHORT.get(first, first)
    units = first.encode("utf-16-be", "surrogatepass").hex()
    return before + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
