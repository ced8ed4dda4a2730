"""The model of `talk_desk`: a function of the prompt alone, but for the failures that a test asks for."""

from __future__ import annotations

import json
import re

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.request import ChatRequest

_ROLE = re.compile(r"You play (\w+)\.")
# How the next calls of `clerk` fail.
failures: list[ScriptedFault] = []


def answer(request: ChatRequest) -> Answer:
    """The next line of the role that the system message names."""
    found = _ROLE.search(request.system)
    assert found is not None, request.system
    return {"clerk": _clerk, "asker": _asker, "cashier": _cashier, "parrot": _parrot}[found[1]](request)


def _clerk(request: ChatRequest) -> Answer:
    said = request.last.strip()
    if failures:
        return Answer(fault=failures.pop())
    if found := re.search(r"fare to (\w+)\?", said):
        return Answer(content=f"I look it up. {json.dumps({'request': 'fare', 'city': found[1]})}")
    if found := re.search(r"count to (\d+)", said):
        return Answer(content="DONE " + " ".join(f"word{number}" for number in range(int(found[1]))), pace=0.1)
    before = [message for message in request.messages if message.get("role") == "user"]
    return Answer(content=f"DONE {said} You have said {len(before)} things.")


def _asker(request: ChatRequest) -> Answer:
    if not _spoken(request):
        return Answer(content="TO[User]: Which colour?")
    return Answer(content=f"DONE It is {request.last.strip()} now.")


def _cashier(request: ChatRequest) -> Answer:
    if not _spoken(request):
        return Answer(content=json.dumps({"request": "refund", "cents": 250, "reason": request.last.strip()}))
    return Answer(content=f"DONE {request.last.strip()}")


def _parrot(request: ChatRequest) -> Answer:
    if not _spoken(request):
        return Answer(content=f"TO[User]: {request.last}")
    return Answer(content=f"DONE {request.last}")


def _spoken(request: ChatRequest) -> int:
    return sum(message.get("role") == "assistant" for message in request.messages)
