from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig, LLMMessage, LLMResponse, LLMTokenUsage, MockLMConfig, Role, ToolMessage
from turnwise.agents.history import sending
from turnwise.errors import ContextOverflowError, ConversationError
from turnwise.models.base import LLMConfig, OpenAIToolCall, ToolChoice
from turnwise.models.base import LLMFunctionCall as Function
from turnwise.models.language_model import LanguageModel

LONG = "word " * 700  # 1000 tokens


class Watched(LanguageModel):
    """Answers with a text and keeps what it was sent."""

    def __init__(self, config: LLMConfig, answer: str | Callable[[], LLMResponse] = "yes") -> None:
        super().__init__(config)
        self.answer = answer
        self.sent: list[LLMMessage] = []
        self.messages: Sequence[LLMMessage] = ()
        self.max_tokens = 0

    def chat(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None = None, on_token: Any = None
    ) -> LLMResponse:
        self.messages, self.sent, self.max_tokens = messages, list(messages), max_tokens
        return LLMResponse(message=self.answer) if isinstance(self.answer, str) else self.answer()

    async def achat(self, *_args: Any, **_more: Any) -> LLMResponse:
        raise NotImplementedError


def watched(context: int | None, **config: Any) -> tuple[ChatAgent, Watched]:
    agent = ChatAgent(ChatAgentConfig(name="desk", system_message="Be brief.", **config))
    model = Watched(MockLMConfig(chat_context_length=context, max_output_tokens=400, min_output_tokens=100))
    agent.llm = model
    return agent, model


def test_a_history_that_fits_is_sent_as_it_is_and_not_copied() -> None:
    for context in (None, 100_000):
        agent, model = watched(context)
        agent.llm_response("hello")
        assert model.messages is agent.message_history
        assert model.max_tokens == 400


def test_the_answer_is_asked_to_be_shorter_before_anything_is_taken_from_the_history() -> None:
    agent, model = watched(1600)
    agent.llm_response(LONG)
    assert [message.content for message in model.sent] == ["Be brief.", LONG]
    assert model.max_tokens == 1600 - 300 - 1000 - 4 - 4 - 3


def test_a_conversation_goes_on_beyond_the_context_and_is_kept_whole() -> None:
    agent, model = watched(4000)
    for number in range(12):
        agent.llm_response(f"{number} {LONG}")
        assert agent.chat_num_tokens(model.sent) + model.max_tokens + 300 <= 4000
        assert model.sent[0].content == "Be brief."
        assert model.sent[-1].content == f"{number} {LONG}"
    assert len(model.sent) == len(agent.message_history) - 1 == 24
    assert all(len(message.content) > 3500 for message in agent.message_history[1::2])


def test_what_is_sent_begins_as_it_did_before_for_some_turns() -> None:
    agent, model = watched(6000)
    model.config.max_output_tokens = 2500
    same = 0
    before: list[LLMMessage] = []
    for _ in range(20):
        agent.llm_response("word " * 350)
        same += model.sent[: len(before)] == before
        before = list(model.sent)
    assert same >= 14


def test_turns_are_dropped_where_that_is_the_strategy() -> None:
    agent, model = watched(4000, context_overflow_strategy="drop_turns")
    for number in range(6):
        agent.llm_response(f"{number} {LONG}")
    assert [message.content[:9] for message in model.sent] == [
        "Be brief.",
        "3 word wo",
        "yes",
        "4 word wo",
        "yes",
        "5 word wo",
    ]
    assert len(agent.message_history) == 13


def test_what_can_not_be_made_to_fit_is_an_error_that_says_what_to_change() -> None:
    agent, _ = watched(1000)
    with pytest.raises(ContextOverflowError, match=r"'desk' .* about 1011 tokens .* takes 1000, .* min_output_tokens"):
        agent.llm_response(LONG)
    assert issubclass(ContextOverflowError, ConversationError)


class Heavy(ToolMessage):
    request: str = "heavy"
    purpose: str = LONG


def test_functions_take_their_part_of_the_context() -> None:
    agent, model = watched(1600, use_functions_api=True, use_tools=False)
    agent.enable_message(Heavy)
    agent.llm_response("word")
    assert 200 < model.max_tokens < 300
    agent.disable_message_use()
    agent.llm_response("word")
    assert model.max_tokens == 400


def test_an_edit_of_the_history_takes_the_mark_back_with_it() -> None:
    agent, model = watched(4000)
    for _ in range(5):
        agent.llm_response(LONG)
    assert agent.history.messages.fitted > 0
    agent.clear_history(1)
    agent.llm_response(LONG)
    agent.llm_response("again")
    assert [message.content for message in model.sent] == ["Be brief.", LONG, "yes", "again"]


def test_a_provider_that_counts_more_is_believed() -> None:
    agent, model = watched(4000)
    model.answer = lambda: LLMResponse(message="yes", usage=LLMTokenUsage(prompt_tokens=2400))
    agent.llm_response(LONG)
    assert 2.3 < agent.record.token_scale < 2.4
    agent.llm_response(LONG)
    assert len(model.sent[1].content) < 200


def test_a_tokenizer_is_asked_only_where_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, model = watched(4000)
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    monkeypatch.setattr(model, "tokenizer", lambda: count)
    agent.llm_response("word " * 700)
    assert counted == []
    agent.llm_response("word " * 1400)
    assert counted != []
    assert model.max_tokens == 400
    assert len(model.sent[1].content) == 3500


def test_nothing_is_counted_for_a_model_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise AssertionError("counted")

    monkeypatch.setattr(sending, "message_tokens", refuse)
    monkeypatch.setattr("turnwise.agents.history.history.message_tokens", refuse)
    agent, _ = watched(None)
    assert agent.llm_response("hello") is not None


class Search(ToolMessage):
    request: str = "search"
    purpose: str = "To search."
    _max_retained_tokens: int | None = 10

    def handle(self) -> str:
        return LONG


class Small(Search):
    request: str = "small"
    _max_retained_tokens: int | None = None


def test_a_result_is_shortened_once_the_model_has_answered_it() -> None:
    agent, model = watched(None)
    agent.enable_message([Search, Small])
    model.answer = json.dumps({"request": "search"})
    call = agent.llm_response("find it")
    result = agent.agent_response(call)
    agent.llm_response(result)
    assert model.sent[-1].content == LONG
    agent.llm_response("and now?")
    assert model.sent[3].content == LONG[:35] + "\n[truncated: 3465 more characters]"
    assert agent.message_history[3].content == LONG


def test_of_several_results_in_one_text_as_much_is_kept_as_of_each() -> None:
    agent, _ = watched(None)
    agent.enable_message([Search, Small])
    result = agent.agent_response('{"request": "search"} {"request": "small"}')
    assert result is not None
    assert result.metadata.max_retained_tokens == 10 + 1000
    result = agent.agent_response('{"request": "small"}')
    assert result is not None
    assert result.metadata.max_retained_tokens is None


def test_results_of_api_calls_are_shortened_each_by_its_own_tool() -> None:
    agent, model = watched(None, use_functions_api=True)
    agent.enable_message([Search, Small])
    calls = [OpenAIToolCall(id=name, function=Function(name=name, arguments={})) for name in ("search", "small")]
    model.answer = lambda: LLMResponse(message=None, oai_tool_calls=calls)
    result = agent.agent_response(agent.llm_response("find it"))
    model.answer = "found"
    agent.llm_response(result)
    assert [message.content for message in model.sent[3:]] == [LONG, LONG]
    agent.llm_response("and now?")
    assert [len(message.content) for message in model.sent[3:5]] == [69, 3500]
    assert [message.content for message in agent.message_history[3:5]] == [LONG, LONG]


def test_the_result_of_an_old_style_function_is_shortened_too() -> None:
    agent, model = watched(None, use_functions_api=True, use_tools_api=False)
    agent.enable_message(Search)
    model.answer = lambda: LLMResponse(message=None, function_call=Function(name="search", arguments={}))
    result = agent.agent_response(agent.llm_response("find it"))
    model.answer = "found"
    agent.llm_response(result)
    agent.llm_response("and now?")
    assert model.sent[3].role is Role.FUNCTION
    assert len(model.sent[3].content) == 69
