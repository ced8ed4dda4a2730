"""Tools of a program that end tasks, in the answers of a served run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import (
    AgentDoneTool,
    App,
    ChatAgent,
    ChatAgentConfig,
    DoneTool,
    FinalResultTool,
    MockLMConfig,
    Task,
    ToolMessage,
)
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord


class Verdict(FinalResultTool):
    request: str = "verdict"
    answer: int = 0


class Closed(DoneTool):
    request: str = "closed"


class Judge(ToolMessage):
    request: str = "judge"
    purpose: str = "To judge."

    def handle(self) -> ToolMessage:
        return Verdict(answer=3)


class Hand(Judge):
    request: str = "hand"

    def handle(self) -> ToolMessage:
        return AgentDoneTool(tools=[Verdict(answer=3)])


class Close(Judge):
    request: str = "close"

    def handle(self) -> ToolMessage:
        return Closed(content="closed")


def desk(kind: type[Judge], *enabled: type[ToolMessage]) -> Callable[[], Task]:
    """A task whose sub-task uses the tool."""

    def made() -> Task:
        judge = ChatAgent(
            ChatAgentConfig(name="Court", llm=MockLMConfig(default_response=f'{{"request": "{kind.name()}"}}'))
        )
        judge.enable_message(kind)
        judge.enable_message(list(enabled), use=False, handle=False)
        root = Task(ChatAgent(ChatAgentConfig(name="Root", llm=None)), interactive=False)
        root.add_sub_task(Task(judge, interactive=False))
        return root

    return made


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Callable[[], Task]], RunRecord]]:
    database = fresh_sqlite(tmp_path / "runs.db")

    def serve(make: Callable[[], Task]) -> RunRecord:
        app = App("court")
        app.task(name="desk")(make)
        with Desk(Store(database), app) as served:
            return served.go_on(served.submit("desk", "go"))

    yield serve
    database.close()


def test_a_final_result_that_an_agent_knows_is_the_result(serve: Callable[[Callable[[], Task]], RunRecord]) -> None:
    here = desk(Judge, Verdict)().run("go")
    run = serve(desk(Judge, Verdict))

    assert here is not None
    assert here.tool_messages == [Verdict(answer=3)]
    assert run.result is not None
    assert [tool["answer"] for tool in run.result["tool_messages"]] == [3]


@pytest.mark.parametrize(("kind", "tool"), [(Judge, Verdict), (Hand, Verdict), (Close, Closed)])
def test_a_tool_that_ends_tasks_and_that_no_agent_knows_is_an_error(
    kind: type[Judge], tool: type[ToolMessage], serve: Callable[[Callable[[], Task]], RunRecord]
) -> None:
    run = serve(desk(kind))

    assert run.error is not None
    assert run.error.type == "ConfigurationError"
    assert run.error.message == (
        f"an answer of agent 'Court' holds the tool '{tool.name()}' ({tool.__qualname__}), which ends tasks, but no "
        "agent of the application knows it; enable it in the factory, for instance with enable_message(..., use=False, "
        "handle=False)"
    )
