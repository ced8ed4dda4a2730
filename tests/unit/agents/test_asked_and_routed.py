"""Which handler gets which call, and which responder of an application is asked."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, LLMResponse, MockLMConfig, Task, ToolMessage
from turnwise.models.answer_check import taken
from turnwise.models.base import LLMFunctionCall, OpenAIToolCall


class Ask(ToolMessage):
    request: str = "ask"
    purpose: str = "To ask <q>."
    q: str
    recipient: str = ""

    def handle(self, agent: ChatAgent) -> str:
        return f"DONE {agent.config.name} has answered {self.q}"


class Forward(ToolMessage):
    request: str = "forward"
    purpose: str = "To have Bob asked."

    def handle(self) -> Ask:
        return Ask(q="hi", recipient="Bob")


def _calls(*ids: str | None) -> list[OpenAIToolCall]:
    calls = [LLMFunctionCall(name="pay", arguments={"n": n}) for n, _ in enumerate(ids)]
    return [OpenAIToolCall(id=id, function=call) for id, call in zip(ids, calls, strict=True)]


@pytest.mark.parametrize("ids", [("c0", "c0", "c1"), ("", "", "c1"), (None,) * 3, (None,), ("",)])
def test_calls_of_one_answer_get_ids_that_differ(ids: tuple[str | None, ...]) -> None:
    found = taken(LLMResponse(message="", oai_tool_calls=_calls(*ids))).oai_tool_calls or []

    made = {call.id for call in found}
    assert len(made) == len(ids) and all(made)
    assert [call.function.arguments for call in found if call.function] == [{"n": n} for n, _ in enumerate(ids)]
    assert {id for id in ids if id} <= {call.id for call in found}


@pytest.mark.parametrize("ids", [("c0", "c1"), ("c0",)])
def test_ids_that_tell_calls_apart_stay(ids: tuple[str | None, ...]) -> None:
    response = LLMResponse(message="", oai_tool_calls=_calls(*ids))

    assert taken(response) is response


@pytest.mark.parametrize("said", ['{"request": "ask", "q": "hi", "recipient": "Bob"}', '{"request": "forward"}'])
def test_a_tool_for_another_agent_is_not_handled_here_whoever_made_it(said: str) -> None:
    boss = ChatAgent(
        ChatAgentConfig(
            name="Boss", llm=MockLMConfig(response_fn=lambda text: said if text == "go" else f"DONE {text}")
        )
    )
    boss.enable_message([Ask, Forward])
    bob = ChatAgent(ChatAgentConfig(name="Bob", llm=MockLMConfig()))
    bob.enable_message(Ask)
    task = Task(boss, interactive=False)
    task.add_sub_task(Task(bob, interactive=False))

    result = task.run("go")

    assert result is not None
    assert "Bob has answered hi" in result.content


class _Awaited(ChatAgent):
    """Overrides a responder as a coroutine alone."""

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        return self.create_llm_response("DONE from the coroutine")


class _AwaitedHandlers(ChatAgent):
    async def agent_response_async(self, msg: str | ChatDocument | None = None) -> Any:
        return "DONE from the coroutine"


@pytest.mark.parametrize("kind", [_Awaited, _AwaitedHandlers])
def test_a_responder_that_is_overridden_as_a_coroutine_alone_is_asked_by_run_as_well(kind: type[ChatAgent]) -> None:
    agent = kind(ChatAgentConfig(name="desk", llm=MockLMConfig(default_response="hello")))

    result = Task(agent, interactive=False).run("hello")

    assert result is not None
    assert result.content == "from the coroutine"
