"""The handler of a tool, its arguments, and the use of its result."""

from __future__ import annotations

import asyncio
import math
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    DoneTool,
    Entity,
    LLMFunctionCall,
    MockLMConfig,
    OpenAIToolCall,
    SendTool,
    Task,
    ToolMessage,
)
from turnwise.errors import ConfigurationError


class Plain(ToolMessage):
    request: str = "plain"
    purpose: str = "To do <x>."
    x: int = 1


def from_llm(text: str = "", **fields: Any) -> ChatDocument:
    return ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.LLM, tools_from_agent=True), **fields)


def answer(agent: ChatAgent, text: str = '{"request": "plain"}', **fields: Any) -> ChatDocument | None:
    return agent.agent_response(from_llm(text, **fields))


def content(agent: ChatAgent, text: str = '{"request": "plain"}', **fields: Any) -> str:
    doc = answer(agent, text, **fields)
    assert doc is not None
    return doc.content


def agent_with(*tools: type[ToolMessage], kind: type[ChatAgent] = ChatAgent, **config: Any) -> ChatAgent:
    agent = kind(ChatAgentConfig(name="Bot", **config))
    agent.enable_message(list(tools))
    return agent


def test_the_agents_method_comes_first_then_handle_then_response() -> None:
    class Both(Plain):
        def handle(self) -> str:
            return "handle"

        def response(self, agent: ChatAgent) -> str:
            return "response"

    class OnlyResponse(Plain):
        def response(self, agent: ChatAgent, chat_doc: ChatDocument) -> str:
            return f"response for {agent.config.name} to {chat_doc.metadata.sender}"

    class Bot(ChatAgent):
        def plain(self, msg: Plain) -> str:
            return f"method {msg.x}"

    assert content(agent_with(Both, kind=Bot)) == "method 1"
    assert content(agent_with(Both)) == "handle"
    assert content(agent_with(OnlyResponse)) == "response for Bot to LLM"
    assert answer(agent_with(Plain)) is None


def test_another_method_may_be_named_and_may_take_the_document() -> None:
    class Named(Plain):
        _handler: str = "do_it"

    class Bot(ChatAgent):
        def do_it(self, msg: Plain, chat_doc: ChatDocument) -> str:
            return f"{msg.x} in {chat_doc.content}"

    assert content(agent_with(Named, kind=Bot), '{"request": "plain", "x": 5}') == '5 in {"request": "plain", "x": 5}'


def test_handle_takes_agent_and_document_by_annotation_first_and_by_name_second() -> None:
    class ByKind(Plain):
        def handle(self, message: ChatDocument, somebody: ChatAgent) -> str:
            return f"{type(message).__name__} {somebody.config.name}"

    class ByName(Plain):
        def handle(self, chat_doc, agent):  # type: ignore[no-untyped-def]
            return f"{type(chat_doc).__name__} {agent.config.name}"

    class Swapped(Plain):
        def handle(self, agent: ChatDocument, chat_doc: ChatAgent) -> str:
            return f"{type(agent).__name__} {chat_doc.config.name}"

    class OnlyAgent(Plain):
        def handle(self, agent: ChatAgent) -> str:
            return f"only {agent.config.name}"

    assert [content(agent_with(tool)) for tool in (ByKind, ByName, Swapped)] == ["ChatDocument Bot"] * 3
    assert content(agent_with(OnlyAgent)) == "only Bot"


def test_an_annotation_that_is_no_type_leaves_it_to_names() -> None:
    class Worded(Plain):
        def handle(self, chat_doc: "the whole message", agent: 1 / 0) -> str:  # type: ignore[valid-type]  # noqa: F722
            return f"{type(chat_doc).__name__} {agent.config.name}"

    class Described(Plain):
        def handle(self, message: "the ChatDocument itself") -> str:  # type: ignore[valid-type]  # noqa: F722
            return type(message).__name__

    assert [content(agent_with(tool)) for tool in (Worded, Described)] == ["ChatDocument Bot", "ChatDocument"]


def test_async_runs_prefer_the_async_twin_and_fall_back() -> None:
    class Twins(Plain):
        def handle(self) -> str:
            return "sync"

        async def handle_async(self) -> str:
            return "async"

    class OnlySync(Plain):
        def response(self, agent: ChatAgent) -> str:
            return "sync only"

    def in_async(agent: ChatAgent) -> str:
        doc = asyncio.run(agent.agent_response_async(from_llm('{"request": "plain"}')))
        assert doc is not None
        return doc.content

    assert content(agent_with(Twins)) == "sync"
    assert in_async(agent_with(Twins)) == "async"
    assert in_async(agent_with(OnlySync)) == "sync only"


def test_a_handler_that_is_only_async_is_waited_for_in_a_synchronous_run() -> None:
    class OnlyAsync(Plain):
        async def handle_async(self) -> str:
            await asyncio.sleep(0)
            return "async"

    class Named(Plain):
        async def handle(self, agent: ChatAgent) -> str:
            await asyncio.sleep(0)
            return f"async for {agent.config.name}"

    class Bot(ChatAgent):
        async def plain(self, msg: Plain) -> str:
            await asyncio.sleep(0)
            return f"method {msg.x}"

    async def from_a_running_loop() -> str:
        return content(agent_with(OnlyAsync))

    assert content(agent_with(OnlyAsync)) == "async"
    assert content(agent_with(Named)) == "async for Bot"
    assert content(agent_with(Plain, kind=Bot)) == "method 1"
    assert asyncio.run(from_a_running_loop()) == "async"


def test_an_agents_method_may_take_agent_and_document_by_annotation_too() -> None:
    class Bot(ChatAgent):
        def plain(self, msg: Plain, message: ChatDocument, retries: int = 3) -> str:
            return f"{msg.x} from {message.metadata.sender.value}, {retries}"

    class Answers(Plain):
        def response(self, agent: ChatAgent, message: ChatDocument) -> str:
            return f"{agent.config.name} to {message.metadata.sender.value}"

    assert content(agent_with(Plain, kind=Bot)) == "1 from LLM, 3"
    assert content(agent_with(Answers)) == "Bot to LLM"


def test_what_has_to_be_awaited_is_awaited_wherever_it_comes_from() -> None:
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text

    class Hands(Plain):
        def handle(self) -> Any:
            return later("handed")

    class Bot(ChatAgent):
        async def handle_message_fallback(self, msg: str | ChatDocument) -> str:
            return await later("fallback")

    def in_async(agent: ChatAgent, text: str) -> str:
        doc = asyncio.run(agent.agent_response_async(from_llm(text)))
        assert doc is not None
        return doc.content

    reminded = agent_with(handle_llm_no_tool=lambda _: later("reminder"))

    assert content(agent_with(Hands)) == in_async(agent_with(Hands), '{"request": "plain"}') == "handed"
    assert content(agent_with(kind=Bot), "hello") == in_async(agent_with(kind=Bot), "hello") == "fallback"
    assert content(reminded, "hello") == in_async(reminded, "hello") == "reminder"


def test_the_fallback_of_the_tool_enabled_last_wins() -> None:
    class First(ToolMessage):
        request: str = "first"

        @staticmethod
        def handle_message_fallback(agent: ChatAgent, msg: str | ChatDocument) -> str:
            return "first"

    class Second(First):
        request: str = "second"

        @staticmethod
        def handle_message_fallback(agent: ChatAgent, msg: str | ChatDocument) -> str:
            return "second"

    class Bot(ChatAgent):
        def handle_message_fallback(self, msg: str | ChatDocument) -> str:
            return "own"

    agent = agent_with(First, Second, kind=Bot)
    before = content(agent, "hello")
    agent.enable_message(First)

    assert content(agent_with(kind=Bot), "hello") == "own"
    assert (before, content(agent, "hello")) == ("second", "first")


class OutOfPaper(Exception):
    pass


@pytest.mark.parametrize("in_async", [False, True])
def test_an_exception_of_a_handler_propagates_as_it_is(in_async: bool) -> None:
    class Fails(Plain):
        def handle(self) -> str:
            raise OutOfPaper("tray 2")

    agent = agent_with(Fails, llm=MockLMConfig(default_response='{"request": "plain"}'))
    task = Task(agent, interactive=False)
    with pytest.raises(OutOfPaper, match="tray 2"):
        asyncio.run(task.run_async("go")) if in_async else task.run("go")


class Pair(BaseModel):
    a: int
    b: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (7, "7"),
        (True, "true"),
        ([1, "a"], '[1, "a"]'),
        ({"k": None}, '{"k": null}'),
        (Pair(a=1, b="x"), '{"a":1,"b":"x"}'),
        (Decimal("1.10"), "1.10"),
        (0, "0"),
        ("", ""),
    ],
)
def test_a_value_becomes_text_and_stays_what_it_is_beside_it(value: Any, text: str) -> None:
    class Gives(Plain):
        def handle(self) -> Any:
            return value

    doc = answer(agent_with(Gives))
    assert doc is not None
    assert doc.content == text
    assert doc.content_any == (value if value != "" else None) or doc.content_any == value
    assert doc.metadata.sender is Entity.AGENT


@pytest.mark.parametrize("waits", [False, True])
def test_a_generator_is_no_answer(waits: bool) -> None:
    class Yielding(Plain):
        def handle(self) -> Any:
            yield "one"

    class YieldingLater(Plain):
        async def handle(self) -> Any:
            yield "one"

    agent = agent_with(YieldingLater if waits else Yielding)
    with pytest.raises(ConfigurationError, match=r"handle, called by agent 'Bot', gave a generator .* list of"):
        answer(agent)


def test_a_twin_may_return_a_value_at_once() -> None:
    class Twins(Plain):
        def handle_async(self) -> Any:
            return f"{self.x} at once"

    class YieldingTwin(Plain):
        async def handle_async(self) -> Any:
            yield "one"

    said = answer(agent_with(Twins))
    assert said is not None
    assert said.content == "1 at once"
    with pytest.raises(ConfigurationError, match=r"handle_async, called by agent 'Bot', gave a generator"):
        asyncio.run(agent_with(YieldingTwin).agent_response_async('{"request": "plain", "x": 1}'))


@pytest.mark.parametrize("given", [Plain(), [Plain()], 3])
def test_an_agent_is_asked_with_a_text_or_a_document(given: Any) -> None:
    agent = agent_with(Plain, llm=MockLMConfig())
    for ask in (agent.llm_response, agent.agent_response, agent.handle_message, agent.llm_response_forget):
        with pytest.raises(TypeError, match=rf"given {type(given).__name__}; Task.run takes other values"):
            ask(given)
    assert agent.message_history == []


def test_a_tool_as_result_is_handled_in_turn_or_attached_for_others() -> None:
    class Foreign(ToolMessage):
        request: str = "foreign"

    class Sends(Plain):
        def handle(self) -> ToolMessage:
            return SendTool(to="x", content="hi") if self.x == 1 else Foreign()

    agent = agent_with(Sends)
    sent = answer(agent)
    assert sent is not None
    assert (sent.content, sent.metadata.recipient) == ("hi", "x")
    attached = answer(agent, '{"request": "plain", "x": 2}')
    assert attached is not None
    assert attached.tool_messages == [Foreign()]
    assert attached.metadata.tools_from_agent


def test_a_tool_that_returns_itself_is_attached_not_handled_again() -> None:
    class Again(Plain):
        def handle(self) -> ToolMessage:
            return Again(x=self.x + 1)

    doc = answer(agent_with(Again))
    assert doc is not None
    assert doc.tool_messages == [Again(x=2)]


def test_a_long_result_is_cut_to_its_limit_and_says_so() -> None:
    class Long(Plain):
        _max_result_tokens: int = 10

        def handle(self) -> str:
            return "word " * 1000

    class StillLong(Long):
        pass

    for tool in (Long, StillLong):
        text = content(agent_with(tool))
        assert text.startswith("word word")
        assert text.endswith("[truncated: 4965 more characters]")


class Double(ToolMessage):
    request: str = "double"
    purpose: str = "To double <n>."
    n: int

    def handle(self) -> str:
        return str(self.n * 2)


class Quiet(ToolMessage):
    request: str = "quiet"

    def handle(self) -> None:
        return None


TWO = '{"request": "double", "n": 1} then {"request": "double", "n": 2}'


def test_several_tools_are_answered_in_paragraphs() -> None:
    assert content(agent_with(Double), TWO) == "Result from double: 2\n\nResult from double: 4"
    assert content(agent_with(Double, Quiet), '{"request": "quiet"}' + TWO).count("Result") == 2


def test_one_tool_at_a_time_where_several_are_not_allowed_or_one_of_them_steers() -> None:
    alone = agent_with(Double, allow_multiple_tools=False)
    assert content(alone, TWO) == "ERROR: Use ONE tool at a time!"
    mixed = content(agent_with(Double, DoneTool), '{"request": "double", "n": 1} {"request": "done_tool"}')
    assert mixed.count("ERROR: Use ONE tool at a time!") == 2


def test_bad_fields_are_explained_and_an_unknown_tool_gets_no_answer() -> None:
    text = content(agent_with(Double), '{"request": "double", "n": "many"}')
    assert "`double`" in text
    assert "field `n`" in text
    assert "valid integer" in text
    assert text.endswith("write the whole tool again.")
    assert answer(agent_with(Double), '{"request": "triple", "n": 1}') is None


class Weigh(ToolMessage):
    request: str = "weigh"
    kilos: list[float]
    most: float = math.inf
    note: str = ""

    def handle(self) -> str:
        return f"{sum(self.kilos)} kg of {self.most}"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("NaN", "field `(whole tool)`: NaN and infinite numbers are not JSON"),
        ("1e999", "field `(whole tool)`: NaN and infinite numbers are not JSON"),
        ('"NaN"', "field `kilos.1`: it is read as a number that JSON does not have; give a finite one"),
        ('" -inf"', "field `kilos.1`: it is read as a number that JSON does not have; give a finite one"),
    ],
)
def test_a_number_that_is_not_finite_is_explained_also_as_a_text(number: str, said: str) -> None:
    text = content(agent_with(Weigh), f'{{"request": "weigh", "kilos": [1.5, {number}]}}')
    assert said in text


def test_a_default_that_is_not_finite_is_the_programs_own() -> None:
    text = content(agent_with(Weigh), '{"request": "weigh", "kilos": [1.5], "note": "nan"}')
    assert text == "1.5 kg of inf"


class Branch(BaseModel):
    length: float
    under: list[Branch] = Field(default_factory=list)
    over: Branch | None = None

    @model_validator(mode="after")
    def _back(self) -> Branch:
        for branch in self.under:
            branch.over = self
        return self


class Tree(ToolMessage):
    request: str = "tree"
    root: Branch
    note: str = ""

    def handle(self) -> str:
        return f"{self.root.length} {self.note}"


def test_a_model_that_holds_itself_is_no_endless_search() -> None:
    text = '{"request": "tree", "root": {"length": 2, "under": [{"length": 1}]}, "note": "inf"}'
    assert content(agent_with(Tree), text) == "2.0 inf"


def test_what_a_human_typed_wrongly_is_plain_text() -> None:
    bad = ChatDocument(content='{"request": "double", "n": "many"}')
    assert agent_with(Double).agent_response(bad) is None
    assert not agent_with(Double).has_tool_message_attempt(bad)


def calls(*items: tuple[str, str, dict[str, Any]]) -> list[OpenAIToolCall]:
    return [OpenAIToolCall(id=i, function=LLMFunctionCall(name=name, arguments=args)) for i, name, args in items]


def test_api_calls_are_answered_by_id_also_bad_and_unknown_ones() -> None:
    doc = answer(
        agent_with(Double, Quiet),
        "",
        oai_tool_calls=calls(
            ("a", "double", {"n": 1}), ("b", "double", {"n": "x"}), ("c", "triple", {}), ("d", "quiet", {})
        ),
    )
    assert doc is not None
    results = doc.oai_tool_id2result
    assert results is not None
    assert list(results) == ["a", "b", "c"]
    assert results["a"] == "2"
    assert "field `n`" in results["b"]
    assert results["c"] == "ERROR: there is no tool named `triple`."


def test_results_of_several_calls_may_hold_no_signal() -> None:
    class Says(ToolMessage):
        request: str = "says"
        text: str

        def handle(self) -> str:
            return self.text

    doc = answer(
        agent_with(Says), "", oai_tool_calls=calls(("a", "says", {"text": "DONE"}), ("b", "says", {"text": "ok"}))
    )
    assert doc is not None
    assert doc.oai_tool_id2result == dict.fromkeys("ab", "ERROR: Please use ONE tool at a time!")


@pytest.mark.parametrize(("action", "recipient"), [("user", "User"), ("done", ""), ("write a tool", "")])
def test_a_models_text_without_a_tool_is_answered_as_configured(action: str, recipient: str) -> None:
    doc = answer(agent_with(Double, handle_llm_no_tool=action), "just words")
    assert doc is not None
    assert doc.metadata.recipient == recipient
    assert doc.content == ("write a tool" if action == "write a tool" else "just words")
    assert [type(t) for t in doc.tool_messages] == ([AgentDoneTool] if action == "done" else [])


def test_the_fallback_is_only_for_a_models_message_without_any_tool() -> None:
    agent = agent_with(Double, handle_llm_no_tool=lambda msg: f"no tool in {msg.content}")
    assert content(agent, "words") == "no tool in words"
    assert agent.agent_response(ChatDocument(content="words")) is None
    assert content(agent, '{"request": "double", "n": 2}') == "4"


def test_an_object_without_a_name_is_the_only_handled_tool_that_it_fits() -> None:
    assert content(agent_with(Double), '{"n": 4}') == "8"
    assert answer(agent_with(Double), '{"n": 4, "more": 1}') is None
    assert answer(agent_with(Double), "{}") is None

    class Halve(Double):
        request: str = "halve"

    assert answer(agent_with(Double, Halve), '{"n": 4}') is None


def test_a_handler_is_given_an_agent_whose_class_only_this_function_knows() -> None:
    class Clerk(ChatAgent):
        pass

    class Call(ToolMessage):
        request: str = "call"
        purpose: str = "To see who is given."

        def handle(self, who: Clerk) -> str:
            return type(who).__name__

    clerk = agent_with(Call, kind=Clerk)
    assert content(clerk, '{"request": "call"}') == "Clerk"


@pytest.mark.parametrize(
    ("value", "text"), [(5, "5"), (None, ""), ({"a": [1]}, '{"a": [1]}'), (["x"], '["x"]'), ("as it is", "as it is")]
)
def test_any_value_ends_a_task_as_text(value: object, text: str) -> None:
    assert DoneTool(content=value).content == text
