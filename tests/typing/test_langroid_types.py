"""A type checker's view of a program of `turnwise.langroid`; mypy checks this file, and pytest runs it."""

from __future__ import annotations

from typing import assert_type

import pytest

import turnwise
import turnwise.langroid as lr
import turnwise.langroid.language_models as lm
from turnwise.langroid.agent.chat_agent import ChatAgent, ChatAgentConfig
from turnwise.langroid.agent.tools.orchestration import AgentDoneTool
from turnwise.langroid.mytypes import Entity
from turnwise.langroid.pydantic_v1 import BaseModel, Field
from turnwise.langroid.utils.configuration import Settings, set_global

pytestmark = pytest.mark.filterwarnings("ignore::turnwise.porting.NoEffectWarning")


class Square(lr.agent.ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=self.number**2)


class Point(BaseModel):
    x: int = Field(0, ge=0)


class Config(ChatAgentConfig):
    town: str = "Rome"


def make_task() -> lr.Task:
    llm = lm.MockLMConfig(default_response='{"request": "square", "number": 3}', cache_config=None)
    agent = ChatAgent(Config(llm=llm, show_stats=False, town="Oslo"))
    agent.enable_message(Square)
    return lr.Task(agent, interactive=False, done_if_response=[Entity.AGENT])


def test_names_are_the_native_ones_to_a_type_checker() -> None:
    task = make_task()

    assert_type(task, turnwise.Task)
    assert_type(task.run("go"), turnwise.ChatDocument | None)
    assert_type(task[int].run("go"), int | None)
    assert_type(lr.utils.constants.DONE, str)
    assert_type(Point(x=1).x, int)
    assert_type(lm.Role("user"), turnwise.Role)


def test_settings_are_native_ones_and_have_those_without_effect() -> None:
    config: turnwise.ChatAgentConfig = lr.ChatAgentConfig(llm=turnwise.MockLMConfig())
    model: turnwise.LLMConfig = lm.OpenAIGPTConfig(chat_model=lm.OpenAIChatModel.GPT4o, use_chat_for_completion=True)
    set_global(Settings(debug=False, cache=False, max_turns=0))

    assert_type(Config().show_stats, bool)
    assert isinstance(config, lr.ChatAgentConfig)
    assert isinstance(model, lm.LLMConfig)
