"""The model of the scenarios: a function of the prompt alone, so every way of running gets the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest

# Seconds that a slow answer takes: long enough to kill somebody while it is in flight.
SLOW = 1.5
# How long a model thinks that nobody waits for: longer than any test.
ENDLESS = 3_600.0

# What a role's next calls fail with; a test fills it.
failing: dict[str, list[ScriptedFault]] = {}

_ROLE = re.compile(r"You play (\w+)\.")


def tool(request: str, **fields: object) -> str:
    """A tool as a model writes it."""
    return json.dumps({"request": request, **fields})


def answer(request: ChatRequest) -> Answer:
    """The next line of the role that the system message names.

    A text ends with a digest of the whole prompt, so that runs whose prompts differ anywhere differ in their
    transcripts. A line is chosen by how often the role has spoken; the last one is repeated.
    """
    found = _ROLE.search(request.system)
    if found is None:
        raise LookupError(f"the system message names no role: {request.system[:80]!r}")
    if failing.get(found[1]):
        return Answer(fault=failing[found[1]].pop(0))
    lines = _LINES[found[1]]
    spoken = sum(message.get("role") == "assistant" for message in request.messages)
    line = lines[min(spoken, len(lines) - 1)]
    said = line if isinstance(line, Answer) else Answer(content=line)
    if not said.content or found[1] in _UNMARKED:
        return said
    return Answer.model_validate({**said.model_dump(), "content": f"{said.content} [{request.digest}]"})


_UNMARKED = ("circler",)

_LINES: Mapping[str, Sequence[str | Answer]] = {
    "calculator": (
        f"First the sum. {tool('add', a=1, b=2)}",
        f"Both at once: {tool('add', a=3, b=4)} and {tool('spell', word='größe 🐦')}",
        f"Now with a mistake: {tool('add', a='many', b=4)}",
        f"Again: {tool('add', a=7, b=4)}",
        "DONE the sums are 3, 7 and 11",
    ),
    "caller": (
        Answer(tool_calls=[ToolCall(name="add", arguments={"a": 1, "b": 2})]),
        Answer(
            content="Two calls",
            tool_calls=[
                ToolCall(name="add", arguments={"a": 3, "b": 4}),
                ToolCall(name="spell", arguments={"word": "naïve"}),
            ],
        ),
        Answer(tool_calls=[ToolCall(name="add", arguments={"a": "many", "b": 4})]),
        Answer(
            tool_calls=[
                ToolCall(name="divide", arguments={"a": 4, "b": 2}),
                ToolCall(name="add", arguments={"a": 5, "b": 6}),
            ]
        ),
        "DONE called enough",
    ),
    "lead": ("Find out what page 7 says about herons.", "And page 8?", "DONE both pages speak of herons"),
    "researcher": (
        "Read page 7 to me.",
        "DONE page 7 says that herons wade",
        "Read page 8 to me.",
        "DONE page 8 says that herons fish",
    ),
    "reader": (
        tool("read_page", number=7),
        "DONE on page 7: herons wade",
        tool("read_page", number=8),
        "DONE on page 8: herons fish",
    ),
    "dispatcher": (
        "TO[Alice]: how many chairs are there?",
        tool("send_tool", to="Bob", content="How many tables?"),
        tool("forward_tool", agent="Alice"),
        "TO[Nobody]: are you there?",
        "__SEND__:Bob one more question",
        "DONE asked them all",
    ),
    "alice": ("DONE there are 12 chairs", "DONE I cannot read that", "DONE I have said it"),
    "bob": ("DONE there are 3 tables", "DONE ask away"),
    "asker": ("TO[User]: Which colour do you want?", "TO[User]: And which size?", "DONE it is ordered"),
    "talker": ("Hello, what is it about?", "I see. Go on.", "Good to know."),
    "slowpoke": (
        tool("add", a=20, b=1),
        Answer(content=f"After long thought: {tool('add', a=20, b=2)}", delay=SLOW),
        Answer(content=f"And once more: {tool('add', a=20, b=3)}", delay=SLOW),
        "DONE it took a while",
    ),
    "patient": ("DONE it was worth the wait",),
    "dreamer": (Answer(content="DONE nobody waits for this", delay=ENDLESS),),
    "counter": (
        tool("note", text="one"),
        f"{tool('note', text='two')} {tool('note', text='three')}",
        tool("report"),
    ),
    "diarist": (
        tool("note", text="one"),
        "TO[Bob]: how many tables?",
        "DONE that was the first page",
        Answer(content=tool("note", text="two"), delay=SLOW),
        "TO[Bob]: may I ask?",
        "DONE that was the second page",
        tool("report"),
    ),
    "front": (tool("forward_tool", agent="Back"), "DONE the back office has passed it"),
    "back": (f"That is not for me. {tool('done_pass_tool')}",),
    "boss": ("Somebody decide.",),
    "decider": (tool("decide", verdict="yes"),),
    "unsure": (
        Answer(content=""),
        "DO-NOT-KNOW",
        "DONE now I know",
    ),
    "clumsy": (tool("explode", where="here"),),
    "circler": (tool("add", a=1, b=1),),
    "guard": ("DONE that was only text to me",),
    "enough": ("some", "more", "that is enough", "too much"),
    "hauler": (tool("haul", kilobytes=100), "DONE it was heavy"),
    "oddball": (tool("spell", word="a\u0000b\u2028c\ud83d\ude00"), "DONE \u202eodd\u0007 text\u0000"),
}
