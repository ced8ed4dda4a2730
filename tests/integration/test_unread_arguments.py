"""Calls of the API whose arguments are no JSON object, over real HTTP: never a tool with its defaults."""

from __future__ import annotations

from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, ToolMessage
from turnwise.models.base import LLMFunctionCall, LLMMessage, OpenAIToolCall, Role
from turnwise.models.openai.wire import parse_completion, request_body
from turnwise.testing.fake_llm.answer import Answer, ToolCall
from turnwise.testing.fake_llm.server import FakeLLMServer


class Delete(ToolMessage):
    request: str = "delete"
    purpose: str = "To delete the rows of <where>, all without one."
    where: str = "*"

    def handle(self) -> str:
        return f"deleted {self.where}"


def told(arguments: str, **settings: Any) -> str:
    """Return what the model is told once it has called the tool with these arguments."""

    def answer(request: Any) -> Any:
        if request.last == "go":
            return Answer(tool_calls=[ToolCall(name="delete", arguments=arguments)])
        return f"DONE {request.last}"

    with FakeLLMServer(answer) as server:
        llm = OpenAIGPTConfig(api_base=server.base_url, api_key="k", chat_model="any", stream=settings.pop("stream"))  # type: ignore[arg-type]
        agent = ChatAgent(ChatAgentConfig(name="A", llm=llm, use_tools=False, use_functions_api=True, **settings))
        agent.enable_message(Delete)
        result = Task(agent, interactive=False).run("go")
    assert result is not None
    return result.content


WAYS = [{"stream": False}, {"stream": True}, {"stream": False, "use_tools_api": False}]


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize(
    "arguments",
    ['{"where": "id=7', '{"where": "id=7"', '["id=7"]', '"id=7"', "{where}", '{"where":}', "{,}", "id=7", "7"],
)
def test_arguments_that_cannot_be_read_are_told_and_nothing_is_done(arguments: str, ways: dict[str, Any]) -> None:
    text = told(arguments, **ways)
    assert "deleted" not in text
    assert "the tool `delete`" in text
    assert "not one whole JSON object" in text
    assert text.endswith("write the whole tool again.")


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("arguments", ["{'where': 'id=7'}", '{"where": "id=7",}', ' {"where": "id=7"} '])
def test_arguments_with_plain_mistakes_are_read(arguments: str, ways: dict[str, Any]) -> None:
    assert told(arguments, **ways) == "deleted id=7"


@pytest.mark.parametrize("arguments", ["", "{}", "null", " "])
def test_a_call_without_arguments_is_a_call(arguments: str) -> None:
    assert told(arguments, stream=False) == "deleted *"


@pytest.mark.parametrize(("finish", "read"), [("tool_calls", {}), ("length", None)])
@pytest.mark.parametrize("arguments", ["", None])
def test_arguments_that_the_limit_cut_off_are_not_empty(
    finish: str, read: dict[str, Any] | None, arguments: str | None
) -> None:
    function = {"name": "delete", "arguments": arguments}
    message = {"tool_calls": [{"id": "c", "function": function}], "function_call": function}
    answer = parse_completion({"choices": [{"message": message, "finish_reason": finish}]}, OpenAIGPTConfig())
    assert answer.oai_tool_calls is not None
    for call in (answer.oai_tool_calls[0].function, answer.function_call):
        assert call is not None
        assert call.arguments == read


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        (OpenAIGPTConfig(api_base="https://api.openai.com/v1"), '{"where": "id=7'),
        (OpenAIGPTConfig(api_base="http://localhost:8000/v1"), "{}"),
    ],
)
def test_a_call_is_sent_back_as_it_was_written_where_the_server_takes_any(config: OpenAIGPTConfig, sent: str) -> None:
    call = LLMFunctionCall(name="delete", raw='{"where": "id=7')
    message = LLMMessage(role=Role.ASSISTANT, tool_calls=[OpenAIToolCall(id="c", function=call)], function_call=call)
    body = request_body(config, [message], 10, None)["messages"][0]
    assert body["tool_calls"][0]["function"] == body["function_call"] == {"name": "delete", "arguments": sent}
