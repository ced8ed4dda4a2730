"""The words that have a meaning inside a conversation.

A task reads these in message text when `TaskConfig.recognize_string_signals` is on; `NO_ANSWER` and the quit words
are read always.
"""

from __future__ import annotations

import re

from turnwise.messages.json_text import located_json_objects

DONE = "DONE"
NO_ANSWER = "DO-NOT-KNOW"
PASS = "__PASS__"
PASS_TO = "__PASS__:"
SEND_TO = "__SEND__:"
# A prefix that no prose contains by accident; the recommended `TaskConfig.addressing_prefix`.
AT = "|@|"
USER_QUIT_STRINGS = ("q", "x", "quit", "exit", "bye", DONE)
_ADDRESSED = re.compile(r"^\s*TO\s*\[\s*([^\]]+?)\s*\]\s*:(.*)$", re.DOTALL)


def addressee(text: str) -> tuple[str, str]:
    """Split an addressed text into (recipient, text): `TO[name]: text`, or JSON objects with a `recipient` field.

    Tools in XML may have it, too. All must agree on the recipient; the text stays whole then. ("", text) if no one is
    addressed.
    """
    match = _ADDRESSED.match(text)
    if match:
        return match.group(1).strip(), match.group(2).strip()
    if "recipient" in text:
        names: set[str] = set()
        if "{" in text:
            names = {str(item.get("recipient") or "") for item, _, _ in located_json_objects(text)}
        elif "<recipient>" in text:
            from turnwise.messages.xml.parsing import recipients

            names = recipients(text)
        if len(names) == 1:
            return names.pop(), text
    return "", text
