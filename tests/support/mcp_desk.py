"""An application whose tasks are offered as MCP tools; it prints where it should not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from turnwise import App, ChatAgent, ChatAgentConfig, DoneTool, MockLMConfig, Task

print("The desk opens.")
app = App("desk")


def _task(name: str, model: Callable[[str], str]) -> Task:
    agent = ChatAgent(ChatAgentConfig(name=name, llm=MockLMConfig(response_fn=model)))
    agent.enable_message(DoneTool)
    return Task(agent, interactive=False)


def _shout(message: str) -> str:
    print("Somebody shouts.")
    return DoneTool(content=message.upper()).to_json()


def _book(message: str) -> str:
    if message.startswith("A trip to "):
        return f"__SEND__:User Shall I book {message.removeprefix('A trip to ')}?"
    if message == "ask again":
        return "__SEND__:User Really?"
    return DoneTool(content="It is booked." if message.lower() == "yes" else f"Nothing is booked: {message}").to_json()


def _fail(message: str) -> str:
    raise RuntimeError(f"there is no {message} today")


def _wait(message: str) -> str:
    end = time.monotonic() + 30
    while not Path(message).exists() and time.monotonic() < end:
        time.sleep(0.02)
    return DoneTool(content="at last").to_json()


@app.task(name="shout it/out")
def shout() -> Task:
    """Say a text
    in capitals.

    Nobody has to be told more.
    """
    return _task("Shouter", _shout)


@app.task
def trip() -> Task:
    return _task("Planner", _book)


@app.task(name="answer", description="Fails.")
def failing() -> Task:
    return _task("Failer", _fail)


@app.task
def slow() -> Task:
    """Wait for a file."""
    return _task("Waiter", _wait)
