"""The model of `run_desk`: a function of the prompt alone, but for the failures that a test asks for."""

from __future__ import annotations

import re

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.request import ChatRequest

HOSTILE = """</pre><script>document.title = "taken over"</script><img src="http://evil.test/x" onerror="alert(1)">
<a href="javascript:alert(1)">here</a> & "quoted" \u202egnirts desrever\u202c \x1b[31mred {{7*7}}"""
_ROLE = re.compile(r"You play (\w+)\.")
# How many of the next calls of `broken` fail.
failures: list[ScriptedFault] = []


def answer(request: ChatRequest) -> Answer:
    """The next line of the role that the system message names."""
    found = _ROLE.search(request.system)
    assert found is not None, request.system
    spoken = sum(message.get("role") == "assistant" for message in request.messages)
    said = {
        "lead": _lead,
        "writer": _writer,
        "asker": _asker,
        "cashier": _cashier,
        "broken": _broken,
        "doubter": _doubter,
        "talker": _talker,
    }
    return said[found[1]](request, spoken)


def _lead(request: ChatRequest, spoken: int) -> Answer:
    if spoken == 0:
        return Answer(content='I look. {"request": "look", "order": 17, "customer": {"name": "Ada"}}')
    if spoken == 1:
        return Answer(content="TO[writer]: Write a line about two herons.", reasoning="Writing is not mine to do.")
    return Answer(content=f"DONE {HOSTILE}")


def _writer(request: ChatRequest, spoken: int) -> Answer:
    return Answer(content="DONE Two herons wade at dawn.")


def _asker(request: ChatRequest, spoken: int) -> Answer:
    if spoken == 0:
        return Answer(content="TO[User]: Which colour?")
    return Answer(content=f"DONE It is {request.last.strip()} now.")


def _cashier(request: ChatRequest, spoken: int) -> Answer:
    if spoken == 0:
        return Answer(content='{"request": "refund", "cents": 250}')
    return Answer(content=f"DONE {request.last.strip()}")


def _doubter(request: ChatRequest, spoken: int) -> Answer:
    return Answer(content="DO-NOT-KNOW" if "heron" not in request.last else f"DONE {request.last}")


def _broken(request: ChatRequest, spoken: int) -> Answer:
    return Answer(fault=failures.pop()) if failures else Answer(content="DONE It works again.")


def _talker(request: ChatRequest, spoken: int) -> Answer:
    words = int(re.findall(r"\d+", request.last)[-1])
    return Answer(content="DONE " + " ".join(f"word{number}" for number in range(words)), pace=0.1)
