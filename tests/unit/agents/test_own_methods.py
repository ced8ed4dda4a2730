"""Methods of every agent that an application overrides: plain ones, coroutines, and both."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.every_way import results

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, Task, ToolMessage


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay."

    def handle(self) -> str:
        return "paid"


def model(text: str) -> str:
    return '{"request": "pay"}' if text == "go" else f"DONE {text}"


def task_of(kind: type[ChatAgent]) -> Task:
    agent = kind(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=model)))
    agent.enable_message(Pay)
    return Task(agent, interactive=False)


class Permits(ChatAgent):
    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        await asyncio.sleep(0)
        return f"asked, and {await super().handle_tool_message_async(tool, chat_doc)}"


class Handles(ChatAgent):
    async def handle_message_async(self, msg: str | ChatDocument) -> Any:
        value = await super().handle_message_async(msg)
        return value if value is None else f"asked, and {value}"


@pytest.mark.parametrize("kind", [Permits, Handles])
def test_handling_that_is_overridden_as_a_coroutine_alone_holds_in_every_way(
    kind: type[ChatAgent], tmp_path: Path
) -> None:
    assert results(lambda: task_of(kind), tmp_path) == ["asked, and paid"] * 3


class PermitsFirst(Permits):
    """Overrides the plain form of what its base overrides as a coroutine."""

    def handle_tool_message(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        return f"plainly {super().handle_tool_message(tool, chat_doc)}"


def test_of_a_method_and_a_coroutine_the_one_that_is_overridden_later_holds_in_every_way(tmp_path: Path) -> None:
    assert results(lambda: task_of(PermitsFirst), tmp_path) == ["plainly paid"] * 3


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_function_that_is_set_on_one_agent_holds_in_an_event_loop_too(asynchronous: bool) -> None:
    task = task_of(ChatAgent)
    agent = task.agent
    agent.llm_response = lambda message=None: agent.create_llm_response("DONE from the object")  # type: ignore[method-assign]

    result = asyncio.run(task.run_async("go")) if asynchronous else task.run("go")

    assert result is not None
    assert result.content == "from the object"
