"""The mock model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal

import pytest
from pydantic import BaseModel

from turnwise import ChatAgent, ChatAgentConfig, Task, ToolMessage
from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMConfig, LLMFunctionCall, LLMMessage, LLMResponse, OpenAIToolCall, Role
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.mock import MockAnswer, MockLM, MockLMConfig

Asking = Callable[[LanguageModel, str], LLMResponse]


def ask(model: LanguageModel, text: str) -> LLMResponse:
    return model.chat([LLMMessage(role=Role.USER, content=text)], max_tokens=10)


def ask_async(model: LanguageModel, text: str) -> LLMResponse:
    return asyncio.run(model.achat([LLMMessage(role=Role.USER, content=text)], max_tokens=10))


def test_it_answers_from_the_dictionary_by_exact_content_and_else_the_default() -> None:
    model = MockLM(MockLMConfig(response_dict={"2+2": "4", "empty": ""}, default_response="?"))
    assert [ask(model, text).message for text in ("2+2", "2+2 ", "empty")] == ["4", "?", ""]


@pytest.mark.parametrize("ask_it", [ask, ask_async])
def test_the_dictionary_comes_before_the_function_which_passes_on_with_none(ask_it: Asking) -> None:
    def answer(text: str) -> str | None:
        return text.upper() if text.startswith("a") else None

    async def answer_async(text: str) -> str | None:
        return answer(text)

    config = MockLMConfig(response_fn=answer, response_fn_async=answer_async, response_dict={"abc": "dict", "xyz": ""})
    model = MockLM(config)
    assert [ask_it(model, text).message for text in ("abc", "xyz", "ab", "q")] == ["dict", "", "AB", "Mock response"]


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <num>."
    num: int


class City(BaseModel):
    name: str


@pytest.mark.parametrize("ask_it", [ask, ask_async])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (0, "0"),
        (2.5, "2.5"),
        (True, "true"),
        ([1, 2], "[1, 2]"),
        ({"a": 1}, '{"a": 1}'),
        (City(name="Rome"), '{"name":"Rome"}'),
        (Square(num=3), '{"request":"square","purpose":"To square <num>.","id":"","num":3}'),
    ],
)
def test_any_value_of_a_function_becomes_text(ask_it: Asking, value: object, text: str) -> None:
    async def answer_async(said: str) -> object:
        return value

    plain = MockLM(MockLMConfig(response_fn=lambda said: value))
    awaited = MockLM(MockLMConfig(response_fn_async=answer_async))
    assert ask_it(plain, "go").message == text
    assert ask_async(awaited, "go").message == text


def test_a_tool_that_a_function_returns_is_handled_as_one_that_a_model_wrote() -> None:
    class Squaring(ChatAgent):
        def square(self, msg: Square) -> str:
            return f"DONE {msg.num**2}"

    model = MockLMConfig(response_fn=lambda said: Square(num=int(said)))
    agent = Squaring(ChatAgentConfig(llm=model))
    agent.enable_message(Square)
    result = Task(agent, interactive=False).run("12")
    assert result is not None
    assert result.content.strip() == "144"


def test_the_async_function_is_first_in_async_calls_and_the_plain_one_in_others() -> None:
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
    with pytest.raises(ConfigurationError, match=r"'gopher'.*\"openai\", \"azure\" or \"mock\""):
        create_model(LLMConfig(type="gopher"))


@pytest.mark.parametrize("ask_it", [ask, ask_async])
def test_a_function_that_is_only_async_is_asked_in_synchronous_calls_too(ask_it: Asking) -> None:
    async def answer_async(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    assert ask_it(MockLM(MockLMConfig(response_fn_async=answer_async)), "go").message == "GO"


@pytest.mark.parametrize("ask_it", [ask, ask_async])
def test_a_function_of_the_other_kind_is_refused(ask_it: Asking) -> None:
    async def answer_async(text: str) -> str:
        return text

    def pieces(text: str) -> Iterator[str]:
        yield text

    async def pieces_async(text: str) -> AsyncIterator[str]:
        yield text

    for function, cure in ((answer_async, "set response_fn_async to it"), (pieces, "return"), (pieces_async, "return")):
        with pytest.raises(ConfigurationError, match=f"^response_fn is no plain function.*{cure}"):
            ask_it(MockLM(MockLMConfig(response_fn=function)), "go")
    for other in (pieces, pieces_async, str.upper):
        with pytest.raises(ConfigurationError, match=r"^response_fn_async is no async function.*response_fn to it"):
            ask_it(MockLM(MockLMConfig(response_fn_async=other)), "go")  # type: ignore[arg-type]
