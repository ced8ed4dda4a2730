"""The client of chat-completions servers; `openai` is loaded by its first call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnwise.base.cancellation import check_cancelled
from turnwise.errors import ModelError
from turnwise.models.base import (
    UNLIMITED_CONTEXT,
    LLMMessage,
    LLMResponse,
    StreamEventType,
    TokenSink,
    ToolChoice,
    pass_on,
)
from turnwise.models.client import ModelClient
from turnwise.models.limits.announcement import rate_limits
from turnwise.models.limits.provider import Target, provider_of
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.wire import parse_completion, request_body
from turnwise.models.providers import named_provider
from turnwise.models.tokens.price_list import known_context_length, price
from turnwise.models.tokens.tokenizer import tokenizer_for
from turnwise.models.tokens.usage import LLMTokenUsage

if TYPE_CHECKING:
    from turnwise.models.openai.batches import RemoteBatches
    from turnwise.models.openai.calls import Completion


def _unheard(text: str, kind: StreamEventType) -> None:
    """Takes what is streamed while no one listens."""


class OpenAIGPT(ModelClient):
    """The client of an `OpenAIGPTConfig`: a model behind the chat-completions API.

    Raises `ModelUnavailableError`, `ModelRateLimitError` or `ModelRequestError`, and `ConfigurationError` without a
    key. Never retries. Requests and answers stay plain JSON: the library's typed models cost time with the length
    of the history and drop what they do not know.
    """

    config: OpenAIGPTConfig

    def __init__(self, config: OpenAIGPTConfig | None = None) -> None:
        config = config if config is not None else OpenAIGPTConfig()
        super().__init__(config)
        # A name that stands for no server is refused now. An address may be set only where models are called.
        if config.type != "azure":
            named_provider(config.chat_model, config.api_base)
        self._context_length = config.chat_context_length

    def answer(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        # Loads `openai`, which a process that asks no model does without.
        from turnwise.models.openai.calls import call

        sink = on_token or _unheard
        body = request_body(self.config, messages, max_tokens, tools, watched=on_token is not None)
        try:
            answer = call(self.config, body, sink)
            response = self._told(answer.completion, answer.headers, messages)
        except ModelError:
            check_cancelled()  # a connection that was cut for it may read as an answer that ended early
            raise
        for text, kind in _not_passed_on(answer, response):
            sink(text, kind)
        return response

    async def answer_async(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None,
        on_token: TokenSink | None,
    ) -> LLMResponse:
        from turnwise.models.openai.calls import call_async

        sink = on_token or _unheard
        body = request_body(self.config, messages, max_tokens, tools, watched=on_token is not None)
        answer = await call_async(self.config, body, sink)
        response = self._told(answer.completion, answer.headers, messages)
        for text, kind in _not_passed_on(answer, response):
            await pass_on(sink, text, kind)
        return response

    @property
    def supports_json_schema(self) -> bool:
        return self.config.holds_to_schema

    def target(self) -> Target:
        config = self.config
        return Target(provider=provider_of(config.base_url, config.served_model, config.key), caps=config.caps)

    def price(self, usage: LLMTokenUsage) -> Decimal | None:
        return self._price(usage)

    @property
    def on_batches(self) -> bool:
        """Return whether its calls may go to a batch of the provider.

        Those of a class of the program's own may not, and Azure's may not.
        """
        kind = type(self)
        own = kind.chat is not ModelClient.chat or kind.answer is not OpenAIGPT.answer
        return not own and self.config.type == "openai"

    def batch_request(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None
    ) -> dict[str, Any]:
        """The body of the request that `answer` sends, as a batch has it: it cannot be streamed."""
        body = request_body(self.config, messages, max_tokens, tools)
        return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}

    def batches(self) -> RemoteBatches:
        """The batches of the provider; loads `openai`."""
        from turnwise.models.openai.batches import RemoteBatches

        return RemoteBatches(self.config)

    def batch_price(self, usage: LLMTokenUsage) -> Decimal | None:
        """USD that `usage` costs in a batch of the provider, or None where no price is known."""
        return self._price(usage, batched=True)

    def batch_answer(self, completion: object, messages: Sequence[LLMMessage]) -> LLMResponse:
        """The answer in a completion that a batch brought; raises `ModelUnavailableError` if it is none."""
        response = self._told(completion, {}, messages)
        usage = response.usage.model_copy(update={"cost": self.batch_price(response.usage)})
        return response.model_copy(update={"usage": usage})

    def batch_usage(self, completion: object) -> LLMTokenUsage:
        """The usage that a completion of a batch tells, with its cost; none, where it tells of none.

        Raises `ModelUnavailableError` if `completion` is none.
        """
        usage = parse_completion(completion, self.config).usage
        return usage.model_copy(update={"cost": self.batch_price(usage)})

    def _price(self, usage: LLMTokenUsage, *, batched: bool = False) -> Decimal | None:
        config = self.config
        own = None
        if config.input_price is not None and config.output_price is not None:
            own = {config.known_model: (config.input_price, config.output_price)}
        known, at = config.known_model, config.base_url
        return price(known, usage, provider=config.provider, base_url=at, overrides=own, batched=batched)

    def chat_context_length(self) -> int:
        """Return the length from the configuration, or else from the list of models; looked up once."""
        if self._context_length is None:
            config = self.config
            known = known_context_length(config.known_model, provider=config.provider, base_url=config.base_url)
            self._context_length = known or UNLIMITED_CONTEXT
        return self._context_length

    def tokenizer(self) -> Callable[[str], int] | None:
        return tokenizer_for(self.config.known_model)

    def _told(self, completion: object, headers: Mapping[str, str], messages: Sequence[LLMMessage]) -> LLMResponse:
        limits = rate_limits(headers)
        response = parse_completion(completion, self.config, limits)
        usage = response.usage
        if not usage.total_tokens:  # the server told nothing: an upper bound, so that limits still hold
            usage = usage.model_copy(
                update={
                    "prompt_tokens": sum(_most_tokens(message) for message in messages),
                    "completion_tokens": _most_tokens(response),
                }
            )
        usage = usage.model_copy(update={"cost": self.price(usage)})
        told = {"usage": usage, "model": response.model or self.config.chat_model}
        return response.model_copy(update=told | {"rate_limits": limits})


def _not_passed_on(answer: Completion, response: LLMResponse) -> Iterable[tuple[str, StreamEventType]]:
    return () if answer.streamed else response.pieces()


def _most_tokens(value: LLMMessage | LLMResponse) -> int:
    """Return an upper bound: no byte-level BPE makes more tokens than there are bytes."""
    text = json.dumps(value.model_dump(), ensure_ascii=False, default=str)
    return len(text.encode(errors="surrogatepass"))
