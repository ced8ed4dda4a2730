"""Clients of models that programs call by hand, and models that programs write themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.support.raw_model import completion, raw_model
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    LanguageModel,
    LLMConfig,
    LLMFunctionSpec,
    LLMMessage,
    LLMResponse,
    MockLM,
    MockLMConfig,
    OpenAIGPT,
    OpenAIGPTConfig,
    OpenAIJsonSchemaSpec,
    OpenAIToolSpec,
    Role,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.errors import ApplicationError, ConfigurationError
from turnwise.record.store import Store

SQUARE = LLMFunctionSpec(name="square", description="Squares.", parameters={"type": "object", "properties": {}})
USAGE = {"prompt_tokens": 10, "completion_tokens": 4}
Bodies = list[dict[str, Any]]


@pytest.fixture
def bodies() -> Bodies:
    return []


@pytest.fixture
def client(bodies: Bodies) -> Iterator[OpenAIGPT]:
    def answer(body: dict[str, Any]) -> Any:
        bodies.append(body)
        return completion({"role": "assistant", "content": "yes"}, USAGE)

    with raw_model(answer) as url:
        yield OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o", api_base=url, provider="openai", stream=False))


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_text_is_a_conversation_of_its_own(client: OpenAIGPT, bodies: Bodies) -> None:
    answers = [
        client.chat("Is 7.2 bigger than 7.11?", max_tokens=1000),
        client.generate(prompt="Is 7.2 bigger than 7.11?", max_tokens=50),
        asyncio.run(client.achat("Is 7.2 bigger than 7.11?", 1000)),
        asyncio.run(client.agenerate("Is 7.2 bigger than 7.11?")),
        client("Is 7.2 bigger than 7.11?", 60),
    ]

    assert {answer.message for answer in answers} == {"yes"}
    assert [body["max_tokens"] for body in bodies] == [1000, 50, 1000, 200, 60]
    assert [message["role"] for message in bodies[0]["messages"]] == ["system", "user"]
    assert bodies[0]["messages"][1]["content"] == "Is 7.2 bigger than 7.11?"


def test_messages_are_sent_as_they_are(client: OpenAIGPT, bodies: Bodies) -> None:
    client.chat(messages=[LLMMessage(content="Hi", role=Role.USER)], max_tokens=200)

    assert bodies[0]["messages"] == [{"role": "user", "content": "Hi"}]


def test_tools_formats_and_functions_are_sent_as_the_api_wants_them(client: OpenAIGPT, bodies: Bodies) -> None:
    by_name = {"type": "function", "function": {"name": "square"}}
    client.chat("4?", tools=[OpenAIToolSpec(function=SQUARE, strict=True)], tool_choice=by_name)
    client.chat("4?", tools=[OpenAIToolSpec(function=SQUARE)], tool_choice="required")
    client.chat("4?", functions=[SQUARE], function_call={"name": "square"})
    form = OpenAIJsonSchemaSpec(function=SQUARE, strict=True)
    client.chat("4?", response_format=form)

    strict, plain, functions, formed = bodies
    assert strict["tools"][0]["function"] == {**SQUARE.model_dump(), "strict": True}
    assert strict["tool_choice"] == by_name
    assert (plain["tools"][0]["function"], plain["tool_choice"]) == (SQUARE.model_dump(), "required")
    assert (functions["functions"], functions["function_call"]) == ([SQUARE.model_dump()], {"name": "square"})
    assert formed["response_format"] == form.to_dict()


def test_a_choice_that_names_no_function_is_refused(client: OpenAIGPT) -> None:
    with pytest.raises(ConfigurationError, match="names no function"):
        client.chat("4?", tools=[OpenAIToolSpec(function=SQUARE)], tool_choice={"type": "function"})


def test_pieces_of_an_answer_are_passed_on(client: OpenAIGPT) -> None:
    pieces: list[str] = []
    client.chat("4?", on_token=lambda text, _kind: pieces.append(text))

    assert pieces == ["yes"]


def test_streaming_is_switched_for_one_client() -> None:
    config = OpenAIGPTConfig(chat_model="gpt-4o")
    model = OpenAIGPT(config)

    assert (model.get_stream(), model.set_stream(True), model.get_stream()) == (False, False, True)
    assert not config.stream


def test_a_mock_model_answers_by_hand() -> None:
    model = MockLM(MockLMConfig(response_dict={"1 2 3 ?": "4"}))

    assert model.chat("1 2 3 ?").message == "4"
    assert model.generate("what?").message == "Mock response"
    assert asyncio.run(MockLM().achat([LLMMessage(role=Role.USER, content="x")])).message == "Mock response"


# --- what was used ---------------------------------------------------------------------------------------------------


def test_what_the_models_of_a_process_used_can_be_shown(client: OpenAIGPT) -> None:
    client.config = client.config.model_copy(update={"chat_model": "gpt-4o-mini"})
    client.reset_usage_cost()
    tokens, cost = client.tot_tokens_cost()
    agent = ChatAgent(ChatAgentConfig(llm=None))
    agent.llm = client

    agent.llm_response("4?")
    client.chat("5?")
    client.update_usage_cost(chat=True, prompts=100, completions=1, cost=0.25)

    more_tokens, more_cost = client.tot_tokens_cost()
    assert more_tokens - tokens == 14 + 14 + 101
    assert more_cost - cost == pytest.approx(0.25 + 2 * (10 * 0.15 + 4 * 0.6) / 1e6)
    line = next(line for line in LanguageModel.usage_cost_summary().splitlines() if line.startswith("gpt-4o-mini:"))
    assert line.startswith("gpt-4o-mini: Tokens = (prompt 120, cached 0, completion 9), Cost=0.25")
    client.reset_usage_cost()
    assert client.tot_tokens_cost()[0] == tokens


def test_the_price_of_a_model_is_told_for_a_thousand_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)  # at another server the price is not known
    assert OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o")).chat_cost() == (0.0025, 0.00125, 0.01)
    assert OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o")).chat_context_length() == 128_000


class Ask(ToolMessage):
    request: str = "ask"
    purpose: str = "To ask <question>."
    question: str


class Asker(ChatAgent):
    by_hand: LanguageModel

    def ask(self, tool: Ask) -> str:
        return f"DONE {self.by_hand.chat(tool.question).message}"


def asking(client: OpenAIGPT) -> Task[Any]:
    config = MockLMConfig(default_response='{"request": "ask", "question": "4?"}')
    agent = Asker(ChatAgentConfig(llm=config))
    agent.by_hand = client
    agent.enable_message(Ask)
    return Task(agent, interactive=False)


def test_a_call_by_hand_counts_toward_the_limits_of_its_run(client: OpenAIGPT, bodies: Bodies) -> None:
    result = asking(client).run("go", max_tokens=10_000)
    refused = asking(client).run("go", max_tokens=100)

    assert result is not None
    assert result.content == "yes"
    assert len(bodies) == 1
    assert refused is not None
    assert refused.metadata.status is StatusCode.MAX_TOKENS


# --- a program's own -------------------------------------------------------------------------------------------------


class Parrot(LanguageModel):
    """In the form that programs of this vocabulary write."""

    def __init__(self, config: LLMConfig) -> None:
        super().__init__(config)
        self.seen: list[dict[str, Any]] = []

    def chat(
        self,
        messages: str | list[LLMMessage],
        max_tokens: int = 200,
        tools: list[OpenAIToolSpec] | None = None,
        tool_choice: str | dict[str, Any] = "auto",
        functions: list[LLMFunctionSpec] | None = None,
        function_call: str | dict[str, Any] = "auto",
        response_format: OpenAIJsonSchemaSpec | None = None,
    ) -> LLMResponse:
        self.seen.append({"tools": tools, "tool_choice": tool_choice, "functions": functions, "max": max_tokens})
        text = messages if isinstance(messages, str) else messages[-1].content
        return LLMResponse.model_validate({"message": f"DONE {text}", "usage": None})

    async def achat(
        self,
        messages: str | list[LLMMessage],
        max_tokens: int = 200,
        tools: list[OpenAIToolSpec] | None = None,
        tool_choice: str | dict[str, Any] = "auto",
        functions: list[LLMFunctionSpec] | None = None,
        function_call: str | dict[str, Any] = "auto",
        response_format: OpenAIJsonSchemaSpec | None = None,
    ) -> LLMResponse:
        return self.chat(messages, max_tokens, tools, tool_choice, functions, function_call, response_format)

    def generate(self, prompt: str, max_tokens: int = 200) -> LLMResponse:
        return self.chat(prompt, max_tokens)

    async def agenerate(self, prompt: str, max_tokens: int = 200) -> LLMResponse:
        return self.chat(prompt, max_tokens)

    def set_stream(self, stream: bool) -> bool:
        return False

    def get_stream(self) -> bool:
        return False


class PaidParrot(Parrot):
    def chat_cost(self) -> tuple[float, float, float]:
        return (1.0, 0.5, 2.0)


def parroting(model: LanguageModel, **settings: Any) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(llm=None, **settings))
    agent.llm = model
    return Task(agent, interactive=False)


def test_a_model_of_the_programs_own_answers_for_its_agent() -> None:
    task = parroting(Parrot(LLMConfig(chat_model="parrot")))

    result = task.run("hello")
    again = asyncio.run(task.run_async("again"))

    assert result is not None
    assert again is not None
    assert (result.content, again.content) == ("hello", "again")
    usage = task.agent.usage
    assert (usage.calls, usage.prompt_tokens > 5, usage.completion_tokens > 1) == (2, True, True)


def test_a_model_of_the_programs_own_is_told_of_tools() -> None:
    model = Parrot(LLMConfig(chat_model="parrot", max_output_tokens=123))
    task = parroting(model, use_functions_api=True, use_tools=False)
    task.agent.enable_message(Ask, force=True)
    task.run("hello")

    seen = model.seen[0]
    assert [spec.function.name for spec in seen["tools"]] == ["ask"]
    assert (seen["tool_choice"], seen["functions"], seen["max"]) == (
        {"type": "function", "function": {"name": "ask"}},
        None,
        123,
    )


def test_a_model_of_the_programs_own_has_the_price_that_it_tells() -> None:
    task = parroting(PaidParrot(LLMConfig(chat_model="parrot")))
    task.run("hello")

    usage = task.agent.usage
    assert usage.cost == Decimal(usage.prompt_tokens + 2 * usage.completion_tokens) / 1000


def test_a_model_of_the_programs_own_answers_in_a_served_run(store: Store) -> None:
    app = App("parrots", version="1")
    app.task(name="parrot")(lambda: parroting(Parrot(LLMConfig(chat_model="parrot"))))
    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("parrot", "hello"))

    assert run.result is not None
    assert (run.status, run.result["content"]) == ("completed", "hello")
    assert run.prompt_tokens > 5


def _traced(method: Any) -> Any:
    def named_otherwise(*given: Any, **more: Any) -> Any:
        return method(*given, **more)

    return named_otherwise


class Traced(Parrot):
    chat = _traced(Parrot.chat)
    achat = _traced(Parrot.achat)


def test_an_own_model_may_wrap_its_methods_under_other_names() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=None))
    agent.llm = Traced(LLMConfig())

    assert agent.llm_response("hello") is not None
    assert asyncio.run(agent.llm_response_async("again")) is not None


class Wrapping(LanguageModel):
    """Passes on what it is asked to a client, so often."""

    def __init__(self, inner: LanguageModel, *, times: int = 1, tells: bool = True) -> None:
        super().__init__(LLMConfig(chat_model="wrapping"))
        self.inner, self.times, self.tells = inner, times, tells

    def chat(self, messages: Any, max_tokens: int = 200, **more: Any) -> LLMResponse:
        answers = [self.inner.chat(messages, max_tokens, **more) for _ in range(self.times)]
        return answers[-1] if self.tells else LLMResponse(message=answers[-1].message)

    async def achat(self, messages: Any, max_tokens: int = 200, **more: Any) -> LLMResponse:
        answers = [await self.inner.achat(messages, max_tokens, **more) for _ in range(self.times)]
        return answers[-1] if self.tells else LLMResponse(message=answers[-1].message)


@pytest.mark.parametrize("awaited", [True, False])
@pytest.mark.parametrize(("times", "tells"), [(1, True), (1, False), (2, True), (2, False)])
def test_what_a_wrapped_client_uses_counts_once(client: OpenAIGPT, awaited: bool, times: int, tells: bool) -> None:
    task = parroting(Wrapping(client, times=times, tells=tells))
    before, _ = LanguageModel.tot_tokens_cost()
    result = asyncio.run(task.run_async("q", turns=1)) if awaited else task.run("q", turns=1)
    after, _ = LanguageModel.tot_tokens_cost()

    assert result is not None
    usage = task.agent.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.calls) == (10 * times, 4 * times, times)
    assert after - before == 14 * times


def test_room_for_a_wrapped_client_is_reserved_once(client: OpenAIGPT) -> None:
    model = Wrapping(client)
    model.config = LLMConfig(chat_model="wrapping", max_output_tokens=600, min_output_tokens=600)
    result = parroting(model).run("q", turns=1, max_tokens=1000)

    assert result is not None
    assert result.content == "yes"


def test_a_method_with_other_keywords_is_given_the_documented_arguments(client: OpenAIGPT, bodies: Bodies) -> None:
    task = parroting(Wrapping(client), use_functions_api=True, use_tools=False)
    task.agent.enable_message(Ask, force=True)
    task.run("hello", turns=1)

    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == ["ask"]


def test_an_answer_of_another_kind_is_refused() -> None:
    class Wrong(Parrot):
        def chat(self, *_args: Any, tool_choice: Any = None) -> Any:
            return "a text"

    with pytest.raises(ApplicationError, match="Wrong answered with a str"):
        parroting(Wrong(LLMConfig())).run("hello")


def test_an_answer_goes_on_as_a_message_of_the_model(client: OpenAIGPT, bodies: Bodies) -> None:
    messages = [LLMMessage(role=Role.USER, content="Is it?")]
    messages.append(client.chat(messages).to_LLMMessage())

    client.chat([*messages, LLMMessage(role=Role.USER, content="Sure?")])

    assert [(said["role"], said["content"]) for said in bodies[1]["messages"]] == [
        ("user", "Is it?"),
        ("assistant", "yes"),
        ("user", "Sure?"),
    ]
