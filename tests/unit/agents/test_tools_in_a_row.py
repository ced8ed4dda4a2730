"""Handlers that return tools, which are handled, too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.every_way import results
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, InfiniteLoopException, MockLMConfig, Task, ToolMessage
from turnwise.record.store import Store

_ERROR = (
    "handlers of agent 'Bot' return each other's tools ('there', 'back'), more than 50 in a row; let one of them "
    "return a text, or a tool that this agent does not handle"
)


class There(ToolMessage):
    request: str = "there"
    purpose: str = "To go <n> times."
    n: int

    def handle(self) -> ToolMessage | str:
        return Back(n=self.n - 1) if self.n else "DONE there"


class Back(ToolMessage):
    request: str = "back"
    purpose: str = "To come back, to go <n> times."
    n: int

    def handle(self) -> ToolMessage | str:
        return There(n=self.n - 1) if self.n else "DONE back"


def task(times: int = 100_000) -> Task:
    agent = ChatAgent(ChatAgentConfig(name="Bot", llm=MockLMConfig(response_fn=lambda _: There(n=times))))
    agent.enable_message([There, Back])
    return Task(agent, interactive=False)


def test_handlers_may_return_each_others_tools(tmp_path: Path) -> None:
    assert results(lambda: task(49), tmp_path) == ["back"] * 3


def test_handlers_that_return_each_others_tools_without_an_end_are_told_so() -> None:
    with pytest.raises(InfiniteLoopException) as here:
        task().run("go")
    with pytest.raises(InfiniteLoopException) as awaited:
        asyncio.run(task().run_async("go"))
    assert str(here.value) == str(awaited.value) == _ERROR


def test_a_served_run_is_told_the_same(tmp_path: Path) -> None:
    app = App("rows")
    app.task(name="desk")(task)
    database = fresh_sqlite(tmp_path / "runs.db")
    with Desk(Store(database), app) as desk:
        run = desk.go_on(desk.submit("desk", "go"))
    database.close()
    assert run.error is not None
    assert (run.error.code, run.error.message) == ("infinite_loop", _ERROR)
