"""The form of a conversation in its messages, which model, tools and checks read alike.

The first message of a task says what its model is to do: `case c017: look pay ask.` Each word is a step: one message
of the model. Every message names the case, so that each model call and each tool call can be put to its account.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# What a desk may do in a step; `sub` hands HELPER_STEPS to the helper.
STEPS = ("note", "look", "book", "pay", "both", "ask", "think", "sub")
HELPER_STEPS = ("look", "book", "pay")
_ORDER = re.compile(r"case (\w+): ([a-z ]+)\.")
_RESULT = re.compile(r"(look|book|pay) of (\S+) is done")
_CASE = re.compile(r"case (\w+)")


def order(case: str, steps: Sequence[str]) -> str:
    """The message that asks for these steps."""
    return f"case {case}: {' '.join(steps)}."


def steps_in(text: str) -> tuple[str, ...] | None:
    """The steps that a message asks for, if it does."""
    found = _ORDER.search(text)
    return tuple(found[2].split()) if found else None


def case_in(text: str) -> str | None:
    """The case that a message names last."""
    found = _CASE.findall(text)
    return found[-1] if found else None


def ref(case: str, role: str, message: int) -> str:
    """Return the name of a tool call in the world outside: unique, and the same if the model says it again."""
    return f"{case}-{role}-{message}"


def case_of(call: str) -> str:
    """The case of a tool call."""
    return call.partition("-")[0]


def result_of(tool: str, call: str) -> str:
    """Return the answer of a tool."""
    return f"{tool} of {call} is done"


def results_in(text: str) -> list[tuple[str, str]]:
    """Tool and call of each result that a text holds."""
    return _RESULT.findall(text)


def yes(case: str) -> str:
    """Return the human's answer to each question of a case."""
    return f"Yes, go on with case {case}."
