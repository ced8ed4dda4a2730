"""The base of Turnwise's clients, with the methods that programs call by hand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple

from turnwise.base.sync_async import Callout, Effect, Steps, run_async, run_sync
from turnwise.models.answer_check import taken
from turnwise.models.asking import asked_by_an_agent, inside_another
from turnwise.models.base import LLMFunctionSpec, LLMMessage, LLMResponse, Role, TokenSink, ToolChoice
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import current_gate, failed, reserving, unpaid
from turnwise.models.language_model import LanguageModel
from turnwise.models.specs import OpenAIJsonSchemaSpec, OpenAIToolSpec, choice_of
from turnwise.models.tokens.estimate import MOST_FORM, choice_tokens, message_tokens, most_of_files, most_tokens
from turnwise.models.tokens.usage import doubt_about
from turnwise.models.tokens.usage_totals import process_totals

_SYSTEM = "You are a helpful assistant."


class _Answer(NamedTuple):
    """The call of a client for an agent's answer."""

    client: ModelClient
    messages: Sequence[LLMMessage]
    max_tokens: int
    tools: ToolChoice | None
    on_token: TokenSink | None

    def sync(self) -> LLMResponse:
        return self.client.answer(self.messages, self.max_tokens, self.tools, self.on_token)

    def awaited(self) -> Awaitable[LLMResponse]:
        return self.client.answer_async(self.messages, self.max_tokens, self.tools, self.on_token)


class ModelClient(LanguageModel):
    """A model that agents ask, and programs by hand: `OpenAIGPT(config).chat("Why is the sky blue?")`.

    A call by hand within a run, such as in a tool's handler, counts toward the run's limits as an agent's does.
    """

    counts_calls = True

    @abstractmethod
    def answer(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> LLMResponse:
        """Answer the conversation, with nothing reserved or counted; raises `ModelError`."""

    @abstractmethod
    async def answer_async(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> LLMResponse:
        """The same as `answer`, without blocking the event loop."""

    def answering(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> Callout | None:
        kind = type(self)
        if kind.chat is not ModelClient.chat or kind.achat is not ModelClient.achat:
            return None
        return _Answer(self, messages, max_tokens, tools, on_token)

    def chat(
        self,
        messages: str | Sequence[LLMMessage],
        max_tokens: int = 200,
        tools: ToolChoice | Sequence[OpenAIToolSpec] | None = None,
        tool_choice: str | dict[str, Any] = "auto",
        functions: Sequence[LLMFunctionSpec] | None = None,
        function_call: str | dict[str, Any] = "auto",
        response_format: OpenAIJsonSchemaSpec | None = None,
        *,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        """Answer a conversation, or a text, in at most `max_tokens` tokens.

        - `tools` are functions that the model may call, `tool_choice` is "auto", "none", "required" or names one of
          them as the API does. `functions` and `function_call` are the deprecated form of the same.
        - `response_format` is the form that a text has to have.
        - `on_token`, where given, is called with each piece of the answer as it arrives, and a `StreamEventType`.

        Raises `ModelError`, and `LimitReachedError` in a run whose limits do not allow the call.
        """
        choice = choice_of(tools, tool_choice, functions, function_call, response_format)
        if asked_by_an_agent(self) and not isinstance(messages, str):
            return self.answer(messages, max_tokens, choice, on_token)
        return run_sync(self._by_hand(_conversation(messages), max_tokens, choice, on_token))

    async def achat(
        self,
        messages: str | Sequence[LLMMessage],
        max_tokens: int = 200,
        tools: ToolChoice | Sequence[OpenAIToolSpec] | None = None,
        tool_choice: str | dict[str, Any] = "auto",
        functions: Sequence[LLMFunctionSpec] | None = None,
        function_call: str | dict[str, Any] = "auto",
        response_format: OpenAIJsonSchemaSpec | None = None,
        *,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        """The same as `chat`, without blocking the event loop; `on_token` may return something to await."""
        choice = choice_of(tools, tool_choice, functions, function_call, response_format)
        if asked_by_an_agent(self) and not isinstance(messages, str):
            return await self.answer_async(messages, max_tokens, choice, on_token)
        return await run_async(self._by_hand(_conversation(messages), max_tokens, choice, on_token))

    def _by_hand(
        self, messages: Sequence[LLMMessage], max_tokens: int, choice: ToolChoice | None, on_token: TokenSink | None
    ) -> Steps[LLMResponse]:
        """Reserve, call and count, as an agent would.

        Within a model of the program's own, that model's agent has done so; only the provider's limits hold.
        """
        call, inside = self._call(messages, max_tokens, choice), inside_another()
        hold = yield from reserving(call, current_gate()) if inside is None else unpaid(call)
        asked = Effect(
            sync=lambda: self.answer(messages, hold.max_tokens, choice, on_token),
            awaited=lambda: self.answer_async(messages, hold.max_tokens, choice, on_token),
        )
        try:
            response: LLMResponse = taken((yield asked))
            if doubt := doubt_about(response.usage):
                most = hold.charged(self.most_usage(call.prompt_tokens, hold.max_tokens))
                response = response.model_copy(update={"usage": most.model_copy(update={"doubt": doubt})})
        except BaseException as error:
            failed(hold, error)
            raise
        hold.settle(response.usage, response.rate_limits)
        if inside is not None:
            inside.add(response.usage)
        else:
            process_totals.add(self.config.chat_model, response.usage)
        return response

    def _call(self, messages: Sequence[LLMMessage], max_tokens: int, choice: ToolChoice | None) -> ModelCall:
        def likely() -> int:
            return sum(map(message_tokens, messages)) + choice_tokens(choice)

        def prompt() -> int:
            exact = self.tokenizer()
            form = MOST_FORM * len(messages) + most_of_files(messages)
            if exact is None:
                return form + most_tokens(likely())
            return form + choice_tokens(choice, exact) + sum(message_tokens(message, exact) for message in messages)

        return ModelCall(
            model=self.config.chat_model or self.config.type,
            prompt=prompt,
            price=lambda into, out: Amount.of(self.most_usage(into, out)),
            least=min(max_tokens, self.config.min_output_tokens),
            most=max_tokens,
            client=self,
            likely=likely,
        )


def _conversation(messages: str | Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    if not isinstance(messages, str):
        return messages
    return [LLMMessage(role=Role.SYSTEM, content=_SYSTEM), LLMMessage(role=Role.USER, content=messages)]
