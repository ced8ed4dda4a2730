"""The script of `turnwise fake-llm` for a chaos run: what is said depends on the prompt alone.

What the calls cost is written to a file, also of those whose caller is gone before the answer.
"""

from __future__ import annotations

import os
import re
from typing import Literal

from tests.chaos import ledgers, words

from turnwise.testing.fake_llm import wire
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest, text_of

# Seconds of the step `think`; other answers take a part of SHORT that depends on the prompt.
LONG, SHORT = 1.5, 0.3
# How much of these times it takes: 0 for an answer at once.
PACE = "CHAOS_PACE"
# Set for a provider that has limits, and that fails a few calls when they are made for the first time: to how many
# calls it lets through in a minute.
UNRULY = "CHAOS_UNRULY"
_FAULTS: tuple[ScriptedFault | Literal["disconnect"], ...] = (
    ScriptedFault(status=500),
    ScriptedFault(status=429, retry_after=0.5),
    "disconnect",
)
_ONE_IN = 20  # calls, for each of the faults
if os.environ.get(UNRULY):
    limits = {"concurrency": 10, "requests": int(os.environ[UNRULY])}
_ROLE = re.compile(r"You play (\w+)\.")


def answer(request: ChatRequest) -> Answer:
    """The next step of the role that the system message names.

    A text ends with a digest of the whole prompt, so that runs whose prompts differ anywhere differ in what is said.
    """
    found = _ROLE.search(request.system)
    if found is None:
        raise LookupError(f"the system message names no role: {request.system[:80]!r}")
    said = _Speaker(request, found[1]).answer()
    fault = _fault(request)
    if isinstance(fault, ScriptedFault):
        return Answer(fault=fault)
    if path := os.environ.get(ledgers.BILL):
        usage = wire.completion(request, said)["usage"]
        kept = {name: usage[name] for name in ("prompt_tokens", "completion_tokens")}
        ledgers.append(path, {"case": _case(request), "role": found[1], **kept})
    return said if fault is None else said.model_copy(update={"fault": fault})


def _fault(request: ChatRequest) -> ScriptedFault | Literal["disconnect"] | None:
    """Of a call that is made for the first time, by chance of its prompt; one that breaks in the middle is billed."""
    share = int(request.digest[4:8], 16) % (_ONE_IN * len(_FAULTS))
    if not os.environ.get(UNRULY) or share >= len(_FAULTS) or request.digest in _failed:
        return None
    _failed.add(request.digest)
    return _FAULTS[share]


_failed: set[str] = set()


def _case(request: ChatRequest) -> str | None:
    cases = (words.case_in(text_of(message)) for message in reversed(request.messages))
    return next(filter(None, cases), None)


class _Speaker:
    """One message of a role."""

    def __init__(self, request: ChatRequest, role: str) -> None:
        self._request = request
        self._role = role
        self._case = _case(request) or "none"
        messages = request.messages
        spoken = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
        asked = [
            (place, steps)
            for place, message in enumerate(messages)
            if message.get("role") == "user" and (steps := words.steps_in(text_of(message)))
        ]
        place, self._steps = asked[-1]
        self._step = sum(said > place for said in spoken)
        self._ref = words.ref(self._case, role, len(spoken))

    def answer(self) -> Answer:
        step = self._steps[self._step] if self._step < len(self._steps) else "end"
        calls = self._calls(step)
        text = self._text(step)
        if calls and not self._request.tools:
            text = " ".join([text, *(f'{{"request": "{call.name}", "ref": "{self._ref}"}}' for call in calls)])
            calls = []
        return Answer(content=f"{text} [{self._request.digest}]", tool_calls=calls, delay=self._delay(step))

    def _calls(self, step: str) -> list[ToolCall]:
        tools = {"note": ["note"], "look": ["look"], "book": ["book"], "pay": ["pay"], "both": ["pay", "book"]}
        tools["think"] = ["look"]
        return [ToolCall(name=name, arguments={"ref": self._ref}) for name in tools.get(step, ())]

    def _text(self, step: str) -> str:
        if step == "ask":
            return f"TO[User]: May I go on with case {self._case}, at {self._ref}?"
        if step == "sub":
            return f"TO[Helper]: {words.order(self._case, words.HELPER_STEPS)}"
        if step == "end":
            return f"DONE with case {self._case}"
        return f"For case {self._case}, {self._ref}:"

    def _delay(self, step: str) -> float:
        pace = float(os.environ.get(PACE, "0"))
        share = int(self._request.digest[:4], 16) / 0xFFFF
        return pace * (LONG if step == "think" else SHORT * share)
