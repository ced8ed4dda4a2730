"""Tools in served runs: of functions, in XML, with handlers that are only async, enabled while a run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic import Field
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, ResultTool, Task, ToolMessage, XMLToolMessage
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord


class Script(XMLToolMessage):
    request: str = "script"
    purpose: str = "To run <code>."
    code: str = Field(json_schema_extra={"verbatim": True})

    async def handle_async(self) -> str:
        await asyncio.sleep(0)
        return f"{len(self.code)} characters"


def area(width: int, height: int = 2) -> ToolMessage:
    """The area of a rectangle."""
    return ResultTool(area=width * height)


async def look_up(key: str, agent: ChatAgent) -> str:
    """Look a key up."""
    await asyncio.sleep(0)
    return f"{agent.config.name} found {key}"


class Opener(ChatAgent):
    """Lets its model use another tool once it has asked for it."""

    def open(self, tool: ToolMessage) -> str:
        self.enable_message(ToolMessage.from_function(look_up), require_recipient=True)
        return "it is open"


class Open(ToolMessage):
    request: str = "open"
    purpose: str = "To open the book."


def served(store: Store, make: Callable[[], ChatAgent]) -> RunRecord:
    def desk() -> Task:
        return Task(make(), name="desk", interactive=False)

    app = App("tests")
    app.task(desk)
    with Desk(store, app) as at:
        return at.go_on(at.submit("desk", "Go"))


def agent_with(tool: type[ToolMessage], replies: dict[str, str]) -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_dict=replies)))
    agent.enable_message(tool)
    return agent


def content(run: RunRecord) -> Any:
    assert run.status == "completed", run
    assert run.result is not None
    return run.result["content"]


def test_a_tool_in_xml_with_an_async_handler_is_answered(store: Store) -> None:
    call = Script(code='if a < b:\n    print("}")\n').to_xml()

    assert content(served(store, lambda: agent_with(Script, {"Go": call, "25 characters": "DONE well"}))) == "well"


def test_a_function_ends_a_run_with_a_structured_result(store: Store) -> None:
    tool = ToolMessage.from_function(area)

    run = served(store, lambda: agent_with(tool, {"Go": '{"request": "area", "width": 3}'}))

    assert run.status == "completed"
    assert run.result is not None
    assert [(item["$tool"], item["area"]) for item in run.result["tool_messages"]] == [("result_tool", 6)]


def test_an_async_function_gets_the_agent_that_handles_it(store: Store) -> None:
    tool = ToolMessage.from_function(look_up)
    replies = {"Go": '{"request": "look_up", "key": "k"}', "desk found k": "DONE yes"}

    assert content(served(store, lambda: agent_with(tool, replies))) == "yes"


def test_a_tool_enabled_while_the_run_goes_on_stays_as_it_was_enabled(store: Store) -> None:
    told: list[str] = []

    def model(message: str) -> str:
        told.append(message)
        return {
            "Go": '{"request": "open"}',
            "it is open": '{"request": "look_up", "key": "k", "recipient": "desk"}',
        }.get(message, "DONE yes")

    def make() -> ChatAgent:
        agent = Opener(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=model)))
        agent.enable_message(Open)
        agent.enable_message(ToolMessage.from_function(look_up), use=False, handle=False)
        return agent

    assert content(served(store, make)) == "yes"
    assert told == ["Go", "it is open", "desk found k"]
