"""The OpenAI client against the fake server, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise.errors import (
    AddressInUseError,
    ConfigurationError,
    ModelRateLimitError,
    ModelRequestError,
    ModelUnavailableError,
)
from turnwise.models.base import LLMFunctionSpec, LLMMessage, LLMResponse, Role, StreamEventType, ToolChoice
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.testing.fake_llm.server import FakeLLMServer

SQUARE = LLMFunctionSpec(name="square", description="Squares.", parameters={"type": "object", "properties": {}})
RULES: list[dict[str, Any]] = [
    {"match": r"square (\d+)", "reply": {"tool_calls": [{"name": "square", "arguments": {"x": "$1", "why": "a b"}}]}},
    {
        "match": "two calls",
        "reply": {
            "content": "Both:",
            "reasoning": "I need two.",
            "tool_calls": [{"name": "square", "arguments": {"x": 1}}, {"name": "square", "arguments": {"x": 2}}],
        },
    },
    {"match": "broken call", "reply": {"tool_calls": [{"name": "square", "arguments": "{not json"}]}},
    {"match": "slow", "reply": "at last", "delay": 0.2},
    {"match": "hang", "reply": "never", "delay": 60},
    {"match": "once", "reply": "first", "uses": 1},
    {"match": "limit", "fault": {"status": 429, "retry_after": 0.2}},
    {"match": "break", "fault": {"status": 503}},
    {"match": "refuse", "fault": {"status": 401}},
    {"match": "cut", "reply": "a b c d e f", "fault": "disconnect"},
    {"match": "say (?P<what>.*)", "reply": "You said: ${what}"},
]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


def model_of(server: FakeLLMServer, **settings: Any) -> LanguageModel:
    given: dict[str, Any] = {"api_base": server.base_url, "api_key": SecretStr("k")} | settings
    model = create_model(OpenAIGPTConfig(**given))
    assert model is not None
    return model


def ask(model: LanguageModel, text: str, **more: Any) -> LLMResponse:
    return model.chat([LLMMessage(role=Role.USER, content=text)], max_tokens=100, **more)


async def ask_async(model: LanguageModel, text: str, **more: Any) -> LLMResponse:
    return await model.achat([LLMMessage(role=Role.USER, content=text)], max_tokens=100, **more)


def test_a_plain_question_gets_text_and_usage(server: FakeLLMServer) -> None:
    response = ask(model_of(server), "say hello world")
    assert response.message == "You said: hello world"
    assert response.model == "gpt-4.1-mini"
    assert response.usage.calls == 1
    assert response.usage.prompt_tokens > 0
    assert response.usage.completion_tokens > 0


def test_tool_calls_arrive_parsed_and_without_text(server: FakeLLMServer) -> None:
    response = ask(model_of(server), "square 3", tools=ToolChoice(tools=[SQUARE], choice="square"))
    assert response.message is None
    assert response.oai_tool_calls
    function = response.oai_tool_calls[0].function
    assert function is not None
    assert (function.name, function.arguments) == ("square", {"x": "3", "why": "a b"})
    sent = server.requests()[-1]
    assert sent.tool_names == ["square"]
    assert sent.model_dump()["tool_choice"] == {"type": "function", "function": {"name": "square"}}


def test_legacy_functions_are_asked_for_and_understood(server: FakeLLMServer) -> None:
    tools = ToolChoice(tools=[SQUARE], choice="required", legacy=True)
    response = ask(model_of(server), "square 4", tools=tools)
    assert response.oai_tool_calls is None
    assert response.function_call is not None
    assert response.function_call.arguments == {"x": "4", "why": "a b"}
    assert server.requests()[-1].model_dump()["function_call"] == {"name": "square"}


def test_arguments_that_are_no_json_are_kept_as_text(server: FakeLLMServer) -> None:
    response = ask(model_of(server), "broken call")
    assert response.oai_tool_calls
    function = response.oai_tool_calls[0].function
    assert function is not None
    assert (function.arguments, function.raw) == (None, "{not json")


@pytest.mark.parametrize("text", ["say one two  three\nfour", "two calls", "square 9", "broken call", "say "])
@pytest.mark.parametrize("legacy", [False, True])
def test_streamed_and_async_answers_equal_the_plain_one(server: FakeLLMServer, text: str, legacy: bool) -> None:
    tools = ToolChoice(tools=[SQUARE], legacy=legacy)
    plain, streaming = model_of(server), model_of(server, stream=True)
    expected = ask(plain, text, tools=tools)
    heard: list[tuple[str, StreamEventType]] = []
    assert ask(streaming, text, tools=tools, on_token=lambda *piece: heard.append(piece)) == expected
    assert "".join(piece for piece, kind in heard if kind is StreamEventType.TEXT) == (expected.message or "")
    assert "".join(piece for piece, kind in heard if kind is StreamEventType.REASONING) == expected.reasoning
    assert asyncio.run(ask_async(plain, text, tools=tools)) == expected
    assert asyncio.run(ask_async(streaming, text, tools=tools)) == expected


def test_reasoning_is_kept_apart_from_the_text(server: FakeLLMServer) -> None:
    response = ask(model_of(server, stream=True), "two calls")
    assert (response.message, response.reasoning) == ("Both:", "I need two.")
    assert [call.function.arguments for call in response.oai_tool_calls or () if call.function] == [{"x": 1}, {"x": 2}]


def test_the_output_limit_is_sent_and_held(server: FakeLLMServer) -> None:
    message = LLMMessage(role=Role.USER, content="say " + "x" * 100)
    assert model_of(server).chat([message], max_tokens=5).usage.completion_tokens <= 5


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_faults_become_errors_that_say_what_to_do(server: FakeLLMServer, stream: bool, asynchronous: bool) -> None:
    model = model_of(server, stream=stream)

    def attempt(text: str) -> LLMResponse:
        return asyncio.run(ask_async(model, text)) if asynchronous else ask(model, text)

    with pytest.raises(ModelRateLimitError, match="429") as limited:
        attempt("limit")
    assert limited.value.retry_after == 0.2
    with pytest.raises(ModelUnavailableError, match="503: scripted fault"):
        attempt("break")
    with pytest.raises(ModelRequestError, match="check OPENAI_API_KEY"):
        attempt("refuse")
    with pytest.raises(ModelUnavailableError):
        attempt("cut")
    with pytest.raises(ModelRequestError, match="no rule of the script matches"):
        attempt("gibberish")


def test_a_call_is_made_once_and_never_retried_by_the_client(server: FakeLLMServer) -> None:
    before = server.stats()["requests"]
    with pytest.raises(ModelUnavailableError):
        ask(model_of(server), "break")
    assert server.stats()["requests"] == before + 1


def test_a_slow_server_is_given_up_after_the_timeout(server: FakeLLMServer) -> None:
    with pytest.raises(ModelUnavailableError, match="did not answer in time"):
        ask(model_of(server, timeout=0.1), "hang")


def test_a_server_that_is_not_there_is_named() -> None:
    model = create_model(OpenAIGPTConfig(api_base="http://127.0.0.1:9/v1"))
    assert model is not None
    with pytest.raises(ModelUnavailableError, match=r"127\.0\.0\.1:9/v1.*check that the server runs"):
        ask(model, "hi")


def test_a_missing_key_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = create_model(OpenAIGPTConfig())
    assert model is not None
    with pytest.raises(ConfigurationError, match=r"set OPENAI_API_KEY.*turnwise fake-llm"):
        ask(model, "hi")


@pytest.mark.parametrize("given", ["api_key", "environment"])
def test_the_line_end_of_a_key_that_was_read_from_a_file_is_no_part_of_it(
    server: FakeLLMServer, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-file\n")
    key = SecretStr("sk-of-a-file\n") if given == "api_key" else None
    model = create_model(OpenAIGPTConfig(api_base=server.base_url, api_key=key))
    assert model is not None
    assert ask(model, "say hi").message == "You said: hi"


@pytest.mark.parametrize("key", ["sk-first\nsk-second", "sk-caf\u00e9-first"])
def test_a_key_that_no_header_takes_is_refused_and_not_told(server: FakeLLMServer, key: str) -> None:
    with pytest.raises(ConfigurationError, match="the API key for model gpt-9 has a character that no") as error:
        ask(model_of(server, chat_model="gpt-9", api_key=SecretStr(key)), "say hi")
    assert "first" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"headers": {"X-Place": "a\nb"}}, "the header 'X-Place' for model gpt-9 has a character"),
        ({"headers": {"X-Plac\u00e9": "a"}}, "the name of a header for model gpt-9 has a character"),
        ({"organization": "caf\u00e9"}, "the organization for model gpt-9 has a character"),
    ],
)
def test_what_no_header_takes_is_refused(server: FakeLLMServer, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ask(model_of(server, chat_model="gpt-9", **settings), "say hi")
    assert ask(model_of(server, headers={"X-Place": "a\tb"}), "say hi").message == "You said: hi"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_address_that_is_none_is_no_outage(asynchronous: bool) -> None:
    model = create_model(OpenAIGPTConfig(api_base="models.example", api_key=SecretStr("k")))
    assert model is not None
    with pytest.raises(
        ModelRequestError, match=r"no request can be sent to .*models\.example.*; check OPENAI_BASE_URL"
    ):
        asyncio.run(ask_async(model, "hi")) if asynchronous else ask(model, "hi")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/v1\n",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://x..y/v1",
        f"http://{'a' * 70}.example/v1",
        "http://127.0.0.1:99999/v1",
    ],
)
def test_a_malformed_address_is_a_wrong_request(address: str, asynchronous: bool) -> None:
    model = create_model(OpenAIGPTConfig(api_base=address, api_key=SecretStr("k")))
    assert model is not None
    with pytest.raises(ModelRequestError, match=r"(?s)no request can be sent to .*; check OPENAI_BASE_URL"):
        asyncio.run(ask_async(model, "hi")) if asynchronous else ask(model, "hi")


def test_half_of_a_surrogate_pair_is_sent_as_a_question_mark(server: FakeLLMServer) -> None:
    assert ask(model_of(server), "say caf\udce9.txt").message == "You said: caf?.txt"
    uncounted = ask(model_of(server, stream=True, stream_usage=False), "say caf\udce9.txt")
    assert (uncounted.message, uncounted.usage.total_tokens > 0) == ("You said: caf?.txt", True)


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        OpenAIGPTConfig(timeout=timeout)


def test_key_and_address_come_from_the_environment(server: FakeLLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    model = create_model(OpenAIGPTConfig())
    assert model is not None
    assert ask(model, "say hi").message == "You said: hi"


def test_fifty_async_calls_run_at_once_and_each_loop_has_its_own_connections(server: FakeLLMServer) -> None:
    model = model_of(server)

    async def crowd() -> list[LLMResponse]:
        return await asyncio.gather(*(ask_async(model, f"slow {number}") for number in range(50)))

    for _ in range(2):
        assert {response.message for response in asyncio.run(crowd())} == {"at last"}
    assert server.stats()["max_in_flight"] >= 25


def test_own_prices_make_a_cost_and_an_unknown_server_has_none(server: FakeLLMServer) -> None:
    priced = model_of(server, chat_model="turnwise-fake", input_price=Decimal(2), output_price=Decimal(8))
    usage = ask(priced, "say hi").usage
    assert usage.cost == (2 * usage.prompt_tokens + 8 * usage.completion_tokens) / Decimal(1_000_000)
    assert ask(model_of(server), "say hi").usage.cost is None


@pytest.mark.parametrize("given", ["input_price", "output_price"])
def test_one_price_without_the_other_is_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="give both prices"):
        OpenAIGPTConfig(**{given: "5"})  # type: ignore[arg-type]


def test_a_rule_with_uses_is_spent(server: FakeLLMServer) -> None:
    assert ask(model_of(server), "once").message == "first"
    with pytest.raises(ModelRequestError):
        ask(model_of(server), "once")


def test_a_busy_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressInUseError, match=f"127.0.0.1:{port} is in use"), FakeLLMServer([], port=port):
            pass
