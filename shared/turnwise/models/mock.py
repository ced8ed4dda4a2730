"""A model without a model: it answers from a dictionary or a function, at once and for nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any

from pydantic import Field

from turnwise.base.sync_async import refuse_finished, refuse_unfinished, waited_for
from turnwise.base.text import value_as_text
from turnwise.models.base import LLMConfig, LLMMessage, LLMResponse, TokenSink, ToolChoice, pass_on
from turnwise.models.client import ModelClient
from turnwise.models.tokens.usage import LLMTokenUsage

_ONE_CALL = LLMTokenUsage(calls=1)

# A response function may return a text, an `LLMResponse`, None for no answer, or any value, which becomes text.
MockAnswer = Any


class MockLMConfig(LLMConfig):
    """Settings of a model without a model: it answers at once and for nothing, with what a program says.

    Dictionary and functions are asked with the content of the last message. The first that has an answer gives it:

    - `response_dict`: answers by the exact content;
    - `response_fn_async`: an async function, asked in asynchronous runs, and where there is no `response_fn` in others;
    - `response_fn`: a function; it returns None for no answer, an `LLMResponse`, a text, or any other value, which
      becomes text: a tool or another pydantic model its JSON;
    - `default_response`.

    An empty string is an answer. Each call counts as one without tokens, and costs 0 USD.
    """

    type: str = "mock"
    chat_model: str = "mock"
    response_dict: dict[str, Any] = Field(default_factory=dict)
    response_fn: Callable[[str], MockAnswer] | None = None
    response_fn_async: Callable[[str], Awaitable[MockAnswer]] | None = None
    default_response: str = "Mock response"


class MockLM(ModelClient):
    """The client of a `MockLMConfig`. Each call costs 0 USD and counts as one call without tokens."""

    config: MockLMConfig

    def __init__(self, config: MockLMConfig | None = None) -> None:
        super().__init__(config if config is not None else MockLMConfig())

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        content = messages[-1].content if messages else ""
        answer = self.config.response_dict.get(content)
        if answer is None and self.config.response_fn:
            answer = self._said(content)
        elif answer is None and self.config.response_fn_async:
            answer = waited_for(lambda: self._said_async(content))()
        response = self._response(answer)
        if on_token is not None:
            for text, kind in response.pieces():
                on_token(text, kind)
        return response

    async def answer_async(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        content = messages[-1].content if messages else ""
        answer = self.config.response_dict.get(content)
        if answer is None and self.config.response_fn_async:
            answer = await self._said_async(content)
        if answer is None and self.config.response_fn:
            answer = self._said(content)
        response = self._response(answer)
        if on_token is not None:
            for text, kind in response.pieces():
                await pass_on(on_token, text, kind)
        return response

    def _said(self, content: str) -> MockAnswer:
        assert self.config.response_fn is not None, "it is asked only where it is set"
        answer = self.config.response_fn(content)
        if not isinstance(answer, str):  # as nearly always
            refuse_unfinished(answer, "response_fn", "response_fn_async")
        return answer

    async def _said_async(self, content: str) -> MockAnswer:
        assert self.config.response_fn_async is not None, "it is asked only where it is set"
        answer = self.config.response_fn_async(content)
        refuse_finished(answer, "response_fn_async", "response_fn")
        return await answer

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        # It costs nothing and counts no tokens but those that an answer brings along, which no one knows before.
        return LLMTokenUsage(calls=1)

    def price(self, usage: LLMTokenUsage) -> Decimal:
        return Decimal(0)

    def _response(self, answer: MockAnswer) -> LLMResponse:
        if answer is None:
            answer = self.config.default_response
        if isinstance(answer, str) or not isinstance(answer, LLMResponse):
            return LLMResponse(message=value_as_text(answer), usage=_ONE_CALL, model=self.config.chat_model)
        if answer.usage.calls:
            return answer
        return answer.model_copy(update={"usage": answer.usage.plus(_ONE_CALL)})
