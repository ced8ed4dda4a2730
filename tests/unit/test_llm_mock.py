"""The mock model."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from turnwise.errors import ConfigurationError
from turnwise.llm.base import LanguageModel, LLMConfig, LLMFunctionCall, LLMMessage, LLMResponse, OpenAIToolCall, Role
from turnwise.llm.create import create_model
from turnwise.llm.mock import MockAnswer, MockLM, MockLMConfig


def ask(model: LanguageModel, text: str) -> LLMResponse:
    return model.chat([LLMMessage(role=Role.USER, content=text)], max_tokens=10)


def ask_async(model: LanguageModel, text: str) -> LLMResponse:
    return asyncio.run(model.achat([LLMMessage(role=Role.USER, content=text)], max_tokens=10))


def test_it_answers_from_the_dictionary_by_exact_content_and_else_the_default() -> None:
    model = MockLM(MockLMConfig(response_dict={"2+2": "4", "empty": ""}, default_response="?"))
    assert [ask(model, text).message for text in ("2+2", "2+2 ", "empty")] == ["4", "?", ""]


def test_the_function_comes_before_the_dictionary_and_passes_on_with_none() -> None:
    def answer(text: str) -> str | None:
        return text.upper() if text.startswith("a") else None

    model = MockLM(MockLMConfig(response_fn=answer, response_dict={"abc": "dict", "xyz": "dict"}))
    assert [ask(model, text).message for text in ("abc", "xyz", "q")] == ["ABC", "dict", "Mock response"]


def test_the_async_function_is_first_in_async_calls_and_unknown_to_the_others() -> None:
    async def answer_async(text: str) -> MockAnswer:
        return "async" if text == "both" else None

    model = MockLM(MockLMConfig(response_fn=lambda text: "sync", response_fn_async=answer_async))
    assert ask_async(model, "both").message == "async"
    assert ask_async(model, "other").message == "sync"
    assert ask(model, "both").message == "sync"


def test_a_function_may_return_a_whole_response_with_tool_calls() -> None:
    call = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="square", arguments={"x": 3}))
    model = MockLM(MockLMConfig(response_fn=lambda text: LLMResponse(oai_tool_calls=[call])))
    response = ask(model, "go")
    assert response.oai_tool_calls == [call]
    assert response.message is None
    assert response.usage.calls == 1


def test_a_call_costs_nothing_and_counts_once() -> None:
    usage = ask(MockLM(MockLMConfig()), "hi").usage
    assert (usage.calls, usage.total_tokens, usage.cost) == (1, 0, Decimal(0))


def test_tokens_are_told_as_they_come() -> None:
    heard: list[str] = []
    MockLM(MockLMConfig(default_response="abc")).chat(
        [LLMMessage(role=Role.USER, content="hi")], max_tokens=5, on_token=lambda text, kind: heard.append(text)
    )
    assert "".join(heard) == "abc"


def test_the_type_of_the_settings_chooses_the_client() -> None:
    assert create_model(None) is None
    assert isinstance(create_model(MockLMConfig()), MockLM)
    assert isinstance(create_model(LLMConfig(type="mock")), MockLM)


def test_settings_may_bring_their_own_client() -> None:
    class OwnConfig(LLMConfig):
        type: str = "own"

        def client(self) -> LanguageModel:
            return MockLM(MockLMConfig(default_response="own"))

    model = create_model(OwnConfig())
    assert model is not None
    assert ask(model, "hi").message == "own"


def test_an_unknown_type_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"'gopher'.*\"openai\" or \"mock\""):
        create_model(LLMConfig(type="gopher"))
