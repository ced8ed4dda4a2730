"""Models of a program's own class, which answer in this process by a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turnwise import LanguageModel, LLMConfig, LLMMessage, LLMResponse
from turnwise.models.base import TokenSink, ToolChoice, pass_on


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request to a model."""

    messages: Sequence[LLMMessage]
    max_tokens: int
    tools: ToolChoice | None


class OwnModel(LanguageModel):
    """Answers with what `answer` returns, in pieces where somebody listens."""

    def __init__(self, answer: Callable[[Asked], str | LLMResponse], config: LLMConfig | None = None) -> None:
        super().__init__(config)
        self._answer = answer

    def chat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        response = self._response(messages, max_tokens, tools)
        if on_token is not None:
            for text, kind in response.pieces():
                on_token(text, kind)
        return response

    async def achat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        response = self._response(messages, max_tokens, tools)
        if on_token is not None:
            for text, kind in response.pieces():
                await pass_on(on_token, text, kind)
        return response

    def _response(self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None) -> LLMResponse:
        answer = self._answer(Asked(messages=messages, max_tokens=max_tokens, tools=tools))
        return LLMResponse(message=answer) if isinstance(answer, str) else answer
