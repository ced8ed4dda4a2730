"""Handlers that tools bring, called as methods of the agent that knows the tools."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, Task, ToolMessage
from turnwise.record.values.records import AgentRecord
from turnwise.serving.attempts.served_agent import over_template


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <num>."
    num: int

    def handle(self) -> str:
        return str(self.num**2)

    async def handle_async(self) -> str:
        return f"awaited {self.num**2}"


class Named(ToolMessage):
    request: str = "name_it"
    purpose: str = "To name the agent."
    _handler = "naming"

    def response(self, agent: ChatAgent, message: Any) -> str:  # the last parameter is called what it likes
        return f"{agent.config.name} heard {message.content if message else 'nothing'}"


class Waiting(ToolMessage):
    request: str = "waiting"
    purpose: str = "To wait."

    async def handle_async(self, agent: ChatAgent) -> str:
        return f"waited for {agent.config.name}"


class Unhandled(ToolMessage):
    request: str = "unhandled"
    purpose: str = "To do nothing."


def agent_of(kind: type[ChatAgent] = ChatAgent, *tools: type[ToolMessage], **settings: Any) -> Any:
    """An agent with the tools, as a type checker does not know it, because the handlers are no methods of its class."""
    agent = kind(ChatAgentConfig(name="Bob", llm=None, **settings))
    agent.enable_message(list(tools))
    return agent


def test_the_handler_of_a_known_tool_is_called_by_the_tools_name() -> None:
    agent = agent_of(ChatAgent, Square)

    assert agent.square(Square(num=5)) == "25"
    assert asyncio.run(agent.square_async(Square(num=5))) == "awaited 25"


def test_it_is_given_the_agent_and_the_document() -> None:
    agent = agent_of(ChatAgent, Named, Waiting)

    assert agent.naming(Named(), ChatDocument(content="hello")) == "Bob heard hello"
    assert agent.naming(Named()) == "Bob heard nothing"
    assert asyncio.run(agent.waiting_async(Waiting())) == "waited for Bob"


def test_there_is_no_such_method_where_no_tool_brings_it() -> None:
    agent = agent_of(ChatAgent, Named, Waiting, Unhandled)

    assert not hasattr(agent, "square")
    assert not hasattr(agent, "unhandled")
    assert not hasattr(agent, "name_it")
    assert not hasattr(agent, "waiting")
    with pytest.raises(AttributeError, match="'ChatAgent' object has no attribute 'square'"):
        agent.square(Square(num=5))


def test_the_agents_own_method_goes_before_it() -> None:
    class Own(ChatAgent):
        def square(self, msg: Square) -> str:
            return f"own {msg.num}"

    assert agent_of(Own, Square).square(Square(num=5)) == "own 5"


def test_an_agent_may_call_it_in_its_own_code_in_every_way_of_running() -> None:
    class Doubling(ChatAgent):
        def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
            text = msg if isinstance(msg, str) else msg.content
            return f"DONE {self.square(Square(num=int(text)))}"  # type: ignore[attr-defined]

    agent = agent_of(Doubling, Square)
    result = Task(agent, interactive=False).run("7")
    assert result is not None
    assert result.content.strip() == "49"

    served = over_template(agent, AgentRecord(key="Bob"), {"square": Square}).agent
    assert served.handle_message("7") == "DONE 49"


def test_copies_and_clones_call_it_for_themselves() -> None:
    agent = agent_of(ChatAgent, Named)

    other: Any = agent.clone(1)
    assert other.naming(Named()) == "Bob-1 heard nothing"
    other = copy.copy(agent)
    other.config = other.config.model_copy(update={"name": "Ann"})
    assert other.naming(Named()) == "Ann heard nothing"
    assert agent.naming(Named()) == "Bob heard nothing"


def test_an_error_within_a_property_is_told_as_it_is() -> None:
    class Broken(ChatAgent):
        @property
        def total(self) -> int:
            raise AttributeError("the sum is not there yet")

    with pytest.raises(AttributeError, match="the sum is not there yet"):
        _ = agent_of(Broken, Square).total


def test_the_one_parameter_that_says_nothing_of_itself_gets_the_document() -> None:
    class Echo(ToolMessage):
        request: str = "echo"
        purpose: str = "To echo."

        def handle(self, doc: Any) -> str:
            return f"DONE {doc.metadata.sender}"

    model = MockLMConfig(default_response='{"request": "echo"}')
    agent = ChatAgent(ChatAgentConfig(llm=model))
    agent.enable_message(Echo)
    result = Task(agent, interactive=False).run("go")
    assert result is not None
    assert result.content.strip() == "LLM"
