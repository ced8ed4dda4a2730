"""Sets of tools, shared by all agents that have the same."""

from __future__ import annotations

import gc

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMFunctionCall,
    LLMResponse,
    OpenAIToolCall,
    ToolMessage,
)
from turnwise.errors import ConfigurationError
from turnwise.messages.toolset import _in_use


class Ping(ToolMessage):
    request: str = "ping"
    purpose: str = "To ping."


def agent(*, use: bool = True) -> ChatAgent:
    made = ChatAgent(ChatAgentConfig(name="Bot"))
    made.enable_message(Ping, use=use)
    return made


def test_agents_with_the_same_tools_share_their_sets_and_their_prompt() -> None:
    first, second = agent(), agent()
    assert first.toolbox.sets is second.toolbox.sets
    assert first.system_and_tools_message() is second.system_and_tools_message()


def test_sets_that_differ_in_anything_are_not_shared() -> None:
    first, second = agent(), agent(use=False)
    assert first.toolbox.sets is not second.toolbox.sets
    second.enable_message(Ping)
    assert first.toolbox.sets is second.toolbox.sets
    second.disable_message_handling(Ping)
    assert first.toolbox.sets is not second.toolbox.sets


CALL = LLMFunctionCall(name="ping", arguments={})


@pytest.mark.parametrize(
    "said",
    [
        LLMResponse(message='{"request": "ping"}'),
        LLMResponse(message=None, function_call=CALL),
        LLMResponse(message=None, oai_tool_calls=[OpenAIToolCall(id="c1", function=CALL)]),
    ],
    ids=["text", "function_call", "tool_calls"],
)
def test_a_tool_that_is_known_and_not_handled_is_found_however_it_is_written(said: LLMResponse) -> None:
    bot = agent()
    bot.disable_message_handling(Ping)
    message = ChatDocument.from_LLMResponse(said)
    assert [type(tool) for tool in bot.get_tool_messages(message, all_tools=True)] == [Ping]
    assert bot.get_tool_messages(message) == []
    assert bot.has_only_unhandled_tools(message)
    assert not bot.has_tool_message_attempt(message)
    assert not bot.can_respond(message)
    assert bot.agent_response(message) is None


def test_classes_of_the_same_name_make_sets_of_their_own() -> None:
    class Other(ToolMessage):
        request: str = "ping"
        purpose: str = "To do something else."

    other = ChatAgent(ChatAgentConfig(name="Bot"))
    other.enable_message(Other)
    assert other.toolbox.sets is not agent().toolbox.sets


def test_sets_that_nobody_has_any_more_are_let_go() -> None:
    class Passing(ToolMessage):
        request: str = "passing"
        purpose: str = "To pass."

    made = ChatAgent(ChatAgentConfig(name="Bot"))
    made.enable_message(Passing, use=False)
    held = made.toolbox.sets
    assert held in list(_in_use.values())
    gc.collect()  # what other tests left behind
    before = len(_in_use)
    del made, held
    gc.collect()
    assert len(_in_use) == before - 1


def test_a_second_tool_that_is_not_in_a_list_is_refused() -> None:
    class Pong(ToolMessage):
        request: str = "pong"
        purpose: str = "To pong."

    with pytest.raises(ConfigurationError, match="one list"):
        agent().enable_message(Ping, Pong)  # type: ignore[arg-type]
