"""Spans and measurements of runs in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.telemetry import Memory, in_memory, tree

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    LLMFunctionCall,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    OpenAIToolCall,
    Task,
    ToolMessage,
)


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> AgentDoneTool:
        if self.number < 0:
            raise ValueError("the secret of minus one")
        return AgentDoneTool(content=str(self.number**2))


def squaring(number: int = 7) -> Task:
    call = OpenAIToolCall(id="call-1", function=LLMFunctionCall(name="square", arguments={"number": number}))
    usage = LLMTokenUsage(prompt_tokens=20, cached_tokens=5, completion_tokens=3, calls=1)
    answer = LLMResponse(oai_tool_calls=[call], usage=usage, model="mock-2026")
    llm = MockLMConfig(response_fn=lambda _: answer)
    agent = ChatAgent(ChatAgentConfig(name="Squarer", llm=llm, use_tools=False, use_functions_api=True))
    agent.enable_message(Square)
    return Task(agent, interactive=False)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with in_memory() as found:
        yield found


WHOLE: list[Any] = [
    (
        "invoke_workflow Squarer",
        [
            ("invoke_agent Squarer", [("chat mock", [])]),
            ("invoke_agent Squarer", [("execute_tool square", []), ("execute_tool agent_done_tool", [])]),
        ],
    )
]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_run_is_a_span_with_its_answers_model_calls_and_tools_in_it(memory: Memory, way: str) -> None:
    task = squaring()

    result = (
        task.run("go", session_id="ses-1") if way == "sync" else asyncio.run(task.run_async("go", session_id="ses-1"))
    )

    assert result is not None and result.content == "49"
    assert tree(memory.spans()) == WHOLE
    assert {span.attributes["gen_ai.conversation.id"] for span in memory.spans()} == {"ses-1"}


def test_spans_have_the_names_of_the_conventions(memory: Memory) -> None:
    squaring().run("go")

    told = {span.name: span for span in memory.spans()}
    chat, tool = told["chat mock"], told["execute_tool square"]
    assert chat.kind == "CLIENT"
    assert (
        chat.attributes.items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "mock",
            "gen_ai.request.model": "mock",
            "gen_ai.response.model": "mock-2026",
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 5,
            "gen_ai.usage.output_tokens": 3,
            "gen_ai.agent.name": "Squarer",
        }.items()
    )
    assert (
        tool.attributes.items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "square",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "call-1",
        }.items()
    )
    assert told["invoke_workflow Squarer"].attributes["gen_ai.workflow.name"] == "Squarer"


def test_calls_are_measured(memory: Memory) -> None:
    squaring().run("go")

    found = memory.histograms()
    assert set(found) == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.invoke_agent.duration",
        "gen_ai.execute_tool.duration",
        "gen_ai.workflow.duration",
    }
    assert {point["gen_ai.token.type"] for point in found["gen_ai.client.token.usage"]} == {"input", "output"}
    assert all("ses" not in str(point) for points in found.values() for point in points)


def test_what_fails_says_how_on_each_span_around_it_and_nothing_of_what_was_said(memory: Memory) -> None:
    with pytest.raises(ValueError, match="secret"):
        squaring(-1).run("go")

    failed = {span.name: span.attributes["error.type"] for span in memory.spans() if span.failed}
    assert failed == dict.fromkeys(
        ["execute_tool square", "invoke_agent Squarer", "invoke_workflow Squarer"], "ValueError"
    )
    assert "secret" not in str(memory.spans())
    assert "go" not in [value for span in memory.spans() for value in span.attributes.values()]


def test_content_is_told_only_where_that_is_asked_for(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    squaring().run("please square")
    assert "please square" not in str(memory.spans())

    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    squaring().run("please square, password=hunter22")

    told = {span.name: span.attributes for span in memory.spans()}
    asked = json.loads(told["chat mock"]["gen_ai.input.messages"])
    assert asked[-1] == {"role": "user", "parts": [{"type": "text", "content": "please square, password=***"}]}
    assert json.loads(told["chat mock"]["gen_ai.output.messages"])[0]["parts"][0]["name"] == "square"
    assert json.loads(told["execute_tool square"]["gen_ai.tool.call.arguments"])["number"] == 7


def test_content_is_redacted_as_it_was_said(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    squaring().run(
        'square {"password": "correct horse"}\nAuthorization: Digest a="b", response="8ca5"\nBearer 12345678 end'
    )

    [chat, *_] = [span.attributes for span in memory.spans() if span.name == "chat mock"]
    said = 'square {"password": "***"}\nAuthorization: ***\nBearer *** end'
    assert json.loads(chat["gen_ai.input.messages"])[-1]["parts"][0]["content"] == said


def test_a_run_is_within_the_span_of_the_program_around_it(memory: Memory) -> None:
    with memory.tracers.get_tracer("mine").start_as_current_span("mine"):
        squaring().run("go")

    assert tree(memory.spans()) == [("mine", WHOLE)]
