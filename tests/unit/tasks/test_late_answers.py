"""Responders that no one can interrupt, and that answer when their run has ended."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    StatusCode,
    Task,
    ToolMessage,
    cancelled,
)

WAIT = '{"request": "wait"}'


def until_cancelled() -> None:
    """Return once the run is no longer wanted, without being interrupted."""
    paused = threading.Event()
    while not cancelled():
        paused.wait(0.001)


class Wait(ToolMessage):
    request: str = "wait"
    purpose: str = "To wait."

    def handle(self) -> str:
        begun.set()
        until_cancelled()
        return "late"


begun = threading.Event()


def task_of(model: Any) -> Task[ChatDocument]:
    agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=model)))
    agent.enable_message(Wait)
    return Task(agent, interactive=False, restart=False)


def run(task: Task[ChatDocument], asynchronous: bool, **limits: Any) -> ChatDocument:
    result: ChatDocument | None
    result = asyncio.run(task.run_async("go", **limits)) if asynchronous else task.run("go", **limits)
    assert result is not None
    return result


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_handler_says_when_the_time_is_over_is_not_taken(asynchronous: bool) -> None:
    result = run(task_of(lambda _: WAIT), asynchronous, max_time=0.05)

    assert (result.metadata.status, result.content) == (StatusCode.TIMEOUT, WAIT)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_handler_says_when_its_run_was_killed_is_not_taken(asynchronous: bool) -> None:
    begun.clear()
    task = task_of(lambda _: WAIT)

    def kill() -> None:
        begun.wait(10)
        task.kill()

    killer = threading.Thread(target=kill)
    killer.start()

    result = run(task, asynchronous)

    killer.join()
    assert (result.metadata.status, result.content) == (StatusCode.KILL, WAIT)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_models_late_answer_counts_and_is_in_no_history(asynchronous: bool) -> None:
    def model(_: str) -> LLMResponse:
        until_cancelled()
        return LLMResponse(message="DONE late", usage=LLMTokenUsage(prompt_tokens=3, completion_tokens=4, calls=1))

    task = task_of(model)

    result = run(task, asynchronous, max_time=0.05)

    assert (result.metadata.status, result.content) == (StatusCode.TIMEOUT, "go")
    assert [message.content for message in task.agent.message_history[1:]] == ["go"]
    assert task.agent.usage.total_tokens == 7


def test_a_run_within_a_handler_takes_no_late_answer_either() -> None:
    inner = task_of(lambda _: WAIT)
    heard: list[BaseException] = []

    class Asks(Wait):
        def handle(self) -> str:
            try:
                inner.run("go")
            except BaseException as error:
                heard.append(error)
                raise
            return "late"

    outer = task_of(lambda _: WAIT)
    outer.agent.enable_message(Asks)

    result = run(outer, False, max_time=0.05)

    assert (result.metadata.status, result.content) == (StatusCode.TIMEOUT, WAIT)
    assert len(heard) == 1
    assert [message.content for message in inner.agent.message_history[1:]] == ["go", WAIT]
