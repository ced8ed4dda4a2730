"""Agents with an empty name."""

from __future__ import annotations

from pathlib import Path

from tests.support.every_way import results

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, Task


class Unnamed(ChatAgentConfig):
    name: str = ""


def test_an_empty_name_is_the_default() -> None:
    assert ChatAgentConfig(name="").name == Unnamed().name == ChatAgentConfig().name == "LLM-Agent"


def test_an_agent_without_a_name_works_in_every_way_of_running(tmp_path: Path) -> None:
    def task() -> Task:
        llm = MockLMConfig(default_response="DONE here")
        return Task(ChatAgent(ChatAgentConfig(name="", llm=llm)), interactive=False)

    assert results(task, tmp_path) == ["here"] * 3
