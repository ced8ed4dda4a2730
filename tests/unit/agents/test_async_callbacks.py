"""Async functions where a plain callback is called, which no one would await."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.errors import ConfigurationError


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> str:
        return f"DONE {self.number**2}"


async def never_awaited(*_: Any, **__: Any) -> None:
    raise AssertionError


def agent(*, stream: bool = False) -> ChatAgent:
    model = MockLMConfig(default_response='{"request": "square", "number": 3}', stream=stream)
    made = ChatAgent(ChatAgentConfig(name="Bot", llm=model))
    made.enable_message(Square)
    return made


def run(task: Task[Any], *, asynchronous: bool) -> None:
    asyncio.run(task.run_async("hi")) if asynchronous else task.run("hi")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "name",
    ["show_start_response", "start_llm_stream", "finish_llm_stream", "show_llm_response", "show_agent_response"],
)
def test_an_async_function_as_a_plain_callback_is_an_error(name: str, asynchronous: bool) -> None:
    asked = agent(stream="stream" in name)
    setattr(asked.callbacks, name, never_awaited)

    with pytest.raises(ConfigurationError, match=f"{name} is no plain function: it returned coroutine"):
        run(Task(asked, interactive=False), asynchronous=asynchronous)


@pytest.mark.parametrize("owner", ["agent", "task"])
def test_an_async_set_parent_agent_is_an_error(owner: str) -> None:
    inner = Task(agent(), interactive=False)
    (inner.callbacks if owner == "task" else inner.agent.callbacks).set_parent_agent = never_awaited
    outer = Task(ChatAgent(ChatAgentConfig(name="Outer", llm=None)), interactive=False)
    outer.add_sub_task(inner)

    with pytest.raises(ConfigurationError, match="the callback set_parent_agent is no plain function"):
        outer.run("hi")


def test_an_async_listener_of_a_synchronous_run_is_an_error() -> None:
    asked = agent(stream=True)
    asked.callbacks.start_llm_stream = lambda: never_awaited

    with pytest.raises(ConfigurationError, match="the function that start_llm_stream returned is no plain function"):
        asked.llm_response("hi")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_that_is_begun_without_a_listener_is_an_error(asynchronous: bool) -> None:
    asked = agent(stream=True)
    setattr(asked.callbacks, "start_llm_stream", lambda: None)  # noqa: B010 - a type checker would see the mistake

    with pytest.raises(ConfigurationError, match="start_llm_stream returned NoneType; expected a function"):
        run(Task(asked, interactive=False), asynchronous=asynchronous)


def test_a_callback_may_hand_its_work_to_the_event_loop() -> None:
    told: list[str] = []

    async def show(content: str) -> None:
        told.append(content)

    async def ask() -> None:
        asked, begun = agent(), list[asyncio.Future[None]]()

        def hand_on(content: str) -> asyncio.Future[None]:
            begun.append(asyncio.ensure_future(show(content)))
            return begun[0]

        asked.callbacks.show_llm_response = hand_on
        await asked.llm_response_async("hi")
        await begun[0]

    asyncio.run(ask())

    assert told == ['{"request": "square", "number": 3}']
