"""The facts of an agent over its template: the same as those of the agent that a turn would make."""

from typing import Any

import pytest
from pydantic import BaseModel

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, ToolMessage
from turnwise.agents.kept_state import AgentMemory
from turnwise.base.ids import ids_from
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.wire import encode_document
from turnwise.models.base import OpenAIToolCall
from turnwise.record.values.records import AgentRecord
from turnwise.serving.attempts.served_agent import facts_of, over_template


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <num>."
    num: int

    def handle(self) -> str:
        return str(self.num**2)


class Answer(BaseModel):
    text: str


class Moody(ChatAgent):
    """An agent that says by an attribute of its own whether it is silent."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.mood = "quiet"

    def is_silent(self) -> bool:
        return self.mood == "quiet"


def config() -> ChatAgentConfig:
    return ChatAgentConfig(name="clerk", llm=MockLMConfig())


def clerk() -> ChatAgent:
    agent = ChatAgent(config())
    agent.enable_message(Square)
    return agent


def in_format(agent: ChatAgent) -> None:
    agent.set_output_format(Answer)


def without_tool(agent: ChatAgent) -> None:
    agent.disable_message_handling(Square)


def with_setting(agent: ChatAgent) -> None:
    agent.config.handle_llm_no_tool = "Use a tool."


def with_call(agent: ChatAgent) -> None:
    agent.record.open_calls = [OpenAIToolCall(id="call_1")]


def left_alone(_agent: ChatAgent) -> None:
    """Change nothing."""


@pytest.mark.parametrize("length", [0, 3])
@pytest.mark.parametrize("change", [left_alone, in_format, without_tool, with_setting, with_call])
def test_the_facts_are_those_of_the_agent_that_a_turn_would_make(change: Any, length: int) -> None:
    template = clerk()
    tools = dict(template.toolbox.known)
    turn = over_template(template, AgentRecord(key="clerk"), tools)
    change(turn.agent)
    saved = AgentRecord(key="clerk", record=turn.record(), history_len=length)

    facts = facts_of(template, saved, tools)

    assert facts == over_template(template, saved, tools).facts()
    assert (facts != facts_of(template, AgentRecord(key="clerk"), tools)) == (change is not left_alone or length > 0)


def test_the_facts_of_an_agent_with_its_own_say_follow_its_attributes() -> None:
    template = Moody(config())
    turn = over_template(template, AgentRecord(key="moody"), {})
    turn.agent.mood = "loud"  # type: ignore[attr-defined]
    saved = AgentRecord(key="moody", record=turn.record())

    assert facts_of(template, AgentRecord(key="moody"), {}).silent
    assert not facts_of(template, saved, {}).silent


def test_a_turn_that_changes_tools_and_changes_them_back_keeps_nothing() -> None:
    template = clerk()
    turn = over_template(template, AgentRecord(key="clerk"), dict(template.toolbox.known))
    turn.agent.disable_message_handling(Square)
    changed = turn.record()
    turn.agent.enable_message_handling(Square)

    assert changed is not None
    assert "square" not in changed["tools"]["handled"]
    assert turn.record() is None


@pytest.mark.parametrize("name", sorted(AgentMemory.model_fields))
def test_every_field_of_an_agents_memory_is_written_where_it_differs(name: str) -> None:
    values: dict[str, Any] = {
        "open_calls": [OpenAIToolCall(id="call_1")],
        "tools": {"known": []},
        "attributes": {"a": 1},
        "tasks": {"t": {"a": 1}},
        "settings": {"s": 1},
        "fitted": 2,
        "token_scale": 1.5,
    }
    memory = AgentMemory()
    value = values.get(name, "text")
    if name in ("kept_message", "output_format"):
        value = AgentMemory.model_validate({name: {"content": "text"} if name == "kept_message" else {}}).__dict__[name]
    setattr(memory, name, value)

    assert AgentMemory().dump() == {}
    assert list(memory.dump()) == [name]


def test_writing_a_document_makes_no_ids() -> None:
    document = ChatDocument(content="hello", content_any="hello")
    document.metadata.sender = Entity.AGENT

    with ids_from(lambda: pytest.fail("an id was made")):
        body = encode_document(document)

    assert body == {"content": "hello", "metadata": {"id": document.metadata.id, "sender": "Agent"}}
