"""The result of a done tool with a value that JSON does not have: the same text in a script and served."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.served_parts import Desk

from turnwise import AgentDoneTool, App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.base.text import value_as_text
from turnwise.record.store import Store


class City(BaseModel):
    name: str
    people: int = 0


@dataclass
class Place:
    name: str


VALUES: dict[str, Any] = {
    "text": "a word",
    "number": 7,
    "date": date(2024, 1, 1),
    "dates": {"due": date(2024, 1, 1)},
    "model": City(name="Köln"),
    "models": [City(name="a"), City(name="b", people=2)],
    "set": {1},
    "bytes": b"ab",
    "dataclass": Place("here"),
    "long text": "one two three four five six " * 20,
    "long list": [date(2024, 1, 1)] * 50,
}


class Find(ToolMessage):
    request: str = "find"
    purpose: str = "To find <what>."
    what: str

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=VALUES[self.what])


class FindSome(Find):
    """The message of its result holds only the beginning of the value."""

    request: str = "find_some"
    _max_result_tokens = 5


def task(what: str, tool: type[Find] = Find) -> Task:
    """A model whose sub-task's result is the value, and which repeats what it hears."""
    parent_model = MockLMConfig(response_fn=lambda text: "to it" if text == "Go" else f"DONE heard {text}")
    parent = Task(ChatAgent(ChatAgentConfig(name="parent", llm=parent_model)), interactive=False)
    call = f'{{"request": "{tool.name()}", "what": "{what}"}}'
    finder = ChatAgent(ChatAgentConfig(name="finder", llm=MockLMConfig(default_response=call)))
    finder.enable_message(tool)
    parent.add_sub_task(Task(finder, interactive=False))
    return parent


@pytest.mark.parametrize("tool", [Find, FindSome])
@pytest.mark.parametrize("what", VALUES)
def test_the_caller_hears_the_whole_value_in_every_way(store: Store, what: str, tool: type[Find]) -> None:
    make = partial(task, what, tool)
    here = make().run("Go")
    app = App("tests")
    app.task(name="desk")(make)

    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("desk", "Go"))

    assert here is not None
    assert here.content == f"heard {value_as_text(VALUES[what])}".strip()
    assert run.result is not None
    assert run.result["content"] == here.content
