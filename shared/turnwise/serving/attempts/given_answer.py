"""An answer that a person gives in place of a model or of tool handlers: the edited message of a fork."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.tools import dispatch
from turnwise.messages.document import ChatDocument
from turnwise.models.base import LLMMessage, LLMResponse, TokenSink, ToolChoice
from turnwise.models.mock import MockLM, MockLMConfig
from turnwise.models.tokens.usage import LLMTokenUsage

# Of a model's name, where a person has written what it says.
BY_A_PERSON = "person"


class GivenAnswer(MockLM):
    """Says that text, and is no call: nothing is used or counted."""

    def __init__(self, text: str) -> None:
        super().__init__(MockLMConfig(chat_model=BY_A_PERSON))
        self._text = text

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        return LLMResponse(message=self._text, usage=LLMTokenUsage(), model=BY_A_PERSON)

    async def answer_async(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        return self.answer(messages, max_tokens, tools, on_token)

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        return LLMTokenUsage()


def answer_as_handlers(agent: ChatAgent, text: str, message: ChatDocument | None) -> ChatDocument:
    """Return what the agent's handlers would have said; it is tainted, as all that a person types."""
    said = agent.create_agent_response(text, tainted=True)
    return said if message is None else dispatch.matched(agent, said, message)
