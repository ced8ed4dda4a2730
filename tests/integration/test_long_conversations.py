"""Conversations longer than the context of a model behind an OpenAI-compatible server that minds its length."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, ToolMessage
from turnwise.errors import ContextOverflowError, ModelRequestError
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault, ToolCall
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.server import FakeLLMServer

CONTEXT = 6_000


class Read(ToolMessage):
    request: str = "read"
    purpose: str = "To read a <page>."
    page: int

    def handle(self) -> str:
        return f"page {self.page}: " + "word " * 800


def _strict(request: ChatRequest) -> Answer:
    """Asks for page after page; refuses what OpenAI would: too long, or calls and results that do not match."""
    used = sum(len(str(message)) for message in [*request.messages, *(request.tools or [])]) // 4
    if used + (request.output_limit or 0) > CONTEXT:
        return Answer(
            fault=ScriptedFault(status=400, message=f"maximum context length is {CONTEXT} tokens, got {used}")
        )
    waiting: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return Answer(fault=ScriptedFault(status=400, message="a result without its call"))
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return Answer(fault=ScriptedFault(status=400, message="a call without its result"))
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    page = int(request.last.split()[1].strip(":")) if request.role == "tool" else 0
    if page == 15:
        return Answer(content="DONE all read")
    return Answer(tool_calls=[ToolCall(name="read", arguments={"page": page + 1})])


def _reader(server: FakeLLMServer, **settings: Any) -> ChatAgent:
    llm = OpenAIGPTConfig(
        api_base=server.base_url,
        api_key=SecretStr("k"),
        max_output_tokens=800,
        **{"chat_context_length": CONTEXT, **settings.pop("llm", {})},
    )
    agent = ChatAgent(ChatAgentConfig(name="reader", llm=llm, use_functions_api=True, use_tools=False, **settings))
    agent.enable_message(Read)
    return agent


@pytest.mark.parametrize("strategy", ["truncate", "drop_turns"])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_tool_loop_goes_on_beyond_the_context(strategy: str, awaited: bool) -> None:
    with FakeLLMServer(_strict) as server:
        agent = _reader(server, context_overflow_strategy=strategy)
        task = Task(agent, interactive=False)
        result = asyncio.run(task.run_async("read it")) if awaited else task.run("read it")
        assert result is not None
        assert result.content == "all read"
        requests = server.requests()
    assert len(requests) == 16
    assert all(request.messages[1]["content"] == "read it" for request in requests)
    assert all(
        request.messages[-1]["content"] in ("read it", agent.message_history[-2].content) for request in requests[-1:]
    )
    assert sum(len(message.content) > 4000 for message in agent.message_history) == 15


def test_without_a_known_context_the_servers_refusal_says_what_to_set() -> None:
    with FakeLLMServer(_strict) as server:
        agent = _reader(server, llm={"chat_model": "our-own", "chat_context_length": None})
        with pytest.raises(ModelRequestError, match=r"maximum context length.*set chat_context_length"):
            Task(agent, interactive=False).run("read it")


def test_a_first_message_that_is_too_long_is_refused_without_a_request() -> None:
    with FakeLLMServer(_strict) as server:
        with pytest.raises(ContextOverflowError, match="the context takes 6000"):
            _reader(server).llm_response("word " * 5_000)
        assert server.requests() == []
