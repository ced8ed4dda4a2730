"""Objects without a `request`, in what a model says: which tools they may be taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.every_way import results

from turnwise import ChatAgent, ChatAgentConfig, ForwardTool, MockLMConfig, Task, ToolMessage


class Report(ToolMessage):
    request: str = "report"
    purpose: str = "To report the <content>."
    content: str

    def handle(self) -> str:
        return f"DONE reported {self.content}"


def agent_saying(text: str) -> ChatAgent:
    return ChatAgent(ChatAgentConfig(name="Clerk", llm=MockLMConfig(default_response=text)))


@pytest.mark.parametrize("said", ['{"tools": []}', '{"agent": "Smith"}', '{"content": "five"}', '{"to": "Smith"}'])
def test_plain_json_is_no_tool_that_the_model_was_not_given(said: str, tmp_path: Path) -> None:
    def make() -> Task:
        return Task(agent_saying(said), interactive=False, single_round=True)

    assert results(make, tmp_path) == [said] * 3


@pytest.mark.parametrize("said", ['{"tools": []}', '{"agent": "Smith"}'])
def test_nor_is_it_one_for_the_agent_of_a_sub_task(said: str, tmp_path: Path) -> None:
    def make() -> Task:
        model = MockLMConfig(response_fn=lambda text: said if text == "go" else f"DONE heard {text}")
        task = Task(ChatAgent(ChatAgentConfig(name="Clerk", llm=model)), interactive=False)
        task.add_sub_task(Task(agent_saying("DONE read"), name="Reader", interactive=False))
        return task

    assert results(make, tmp_path) == ["heard read"] * 3


def test_it_is_one_that_the_model_was_given() -> None:
    agent = agent_saying("")
    agent.enable_message(ForwardTool)
    assert [type(tool) for tool in agent.get_tool_messages(agent.create_llm_response('{"agent": "Smith"}'))] == [
        ForwardTool
    ]


def test_a_tool_of_the_program_is_not_in_doubt_beside_one_that_the_model_was_not_given(tmp_path: Path) -> None:
    def make() -> Task:
        agent = agent_saying('{"content": "five"}')
        agent.enable_message(Report)
        return Task(agent, interactive=False)

    assert results(make, tmp_path) == ["reported five"] * 3


def test_a_tool_that_is_named_is_handled_also_if_the_model_was_not_given_it(tmp_path: Path) -> None:
    def make() -> Task:
        return Task(agent_saying('{"request": "done_tool", "content": "five"}'), interactive=False)

    assert results(make, tmp_path) == ["five"] * 3
