"""The client of chat-completions servers; import it through `create_model` only, as it loads `openai`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import httpx2
import openai

from turnwise.llm.base import (
    UNLIMITED_CONTEXT,
    LanguageModel,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    StreamEventType,
    TokenSink,
    ToolChoice,
    pass_on,
)
from turnwise.llm.context_lengths import known_context_length
from turnwise.llm.openai_config import OpenAIGPTConfig
from turnwise.llm.openai_connections import Connections, process_connections
from turnwise.llm.openai_errors import told_as_model_errors
from turnwise.llm.openai_stream import StreamAssembler
from turnwise.llm.openai_wire import parse_completion, plain_json, request_body
from turnwise.llm.prices import price
from turnwise.llm.tokenizer import tokenizer_for
from turnwise.provider_limits.announcement import rate_limits
from turnwise.provider_limits.provider import Target, provider_of

_PATH = "/chat/completions"


def _unheard(text: str, kind: StreamEventType) -> None:
    """Takes what is streamed while nobody listens."""


class OpenAIGPT(LanguageModel):
    """A model behind the chat-completions API.

    Raises `ModelUnavailableError`, `ModelRateLimitError` or `ModelRequestError`, and `ConfigurationError` without a
    key. Never retries. Requests and answers stay plain JSON: the library's typed models cost time with the length
    of the history and drop what they do not know.
    """

    config: OpenAIGPTConfig

    def __init__(self, config: OpenAIGPTConfig, connections: Connections | None = None) -> None:
        super().__init__(config)
        self._connections = connections or process_connections
        self._context_length = config.chat_context_length

    def chat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        body, sink = request_body(self.config, messages, max_tokens, tools), on_token or _unheard
        with self._telling_errors(), self._connections.client(self.config) as client:
            if not body.get("stream"):
                http = client.post(_PATH, cast_to=httpx2.Response, body=body)
                response = self._response(http, messages)
                for text, kind in response.pieces():
                    sink(text, kind)
                return response
            parts = StreamAssembler()
            with client.post(_PATH, cast_to=object, body=body, stream=True, stream_cls=openai.Stream[Any]) as chunks:
                for chunk in chunks:
                    for text, kind in parts.feed(chunk):
                        sink(text, kind)
        return self._told(parts.completion(), chunks.response.headers, messages)

    async def achat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        body, sink = request_body(self.config, messages, max_tokens, tools), on_token or _unheard
        with self._telling_errors():
            async with self._connections.async_client(self.config) as client:
                if not body.get("stream"):
                    http = await client.post(_PATH, cast_to=httpx2.Response, body=body)
                    response = self._response(http, messages)
                    for text, kind in response.pieces():
                        await pass_on(sink, text, kind)
                    return response
                parts = StreamAssembler()
                stream = await client.post(
                    _PATH, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[Any]
                )
                async with stream as chunks:
                    async for chunk in chunks:
                        for text, kind in parts.feed(chunk):
                            await pass_on(sink, text, kind)
        return self._told(parts.completion(), chunks.response.headers, messages)

    @property
    def supports_json_schema(self) -> bool:
        return self.config.holds_to_schema

    def target(self) -> Target:
        config = self.config
        return Target(provider=provider_of(config.base_url, config.chat_model, config.key), caps=config.caps)

    def price(self, usage: LLMTokenUsage) -> Decimal | None:
        config = self.config
        own = None
        if config.input_price is not None and config.output_price is not None:
            own = {config.chat_model: (config.input_price, config.output_price)}
        return price(config.chat_model, usage, provider=config.provider, base_url=config.base_url, overrides=own)

    def chat_context_length(self) -> int:
        """By the configuration, else by what is known of the model's name; looked up once."""
        if self._context_length is None:
            config = self.config
            known = known_context_length(config.chat_model, provider=config.provider, base_url=config.base_url)
            self._context_length = known or UNLIMITED_CONTEXT
        return self._context_length

    def tokenizer(self) -> Callable[[str], int] | None:
        return tokenizer_for(self.config.chat_model)

    def _telling_errors(self) -> AbstractContextManager[None]:
        return told_as_model_errors(self.config.chat_model, self.config.base_url)

    def _response(self, http: httpx2.Response, messages: Sequence[LLMMessage]) -> LLMResponse:
        return self._told(plain_json(http), http.headers, messages)

    def _told(self, completion: object, headers: Mapping[str, str], messages: Sequence[LLMMessage]) -> LLMResponse:
        response = parse_completion(completion)
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
        return response.model_copy(update=told | {"rate_limits": rate_limits(headers)})


def _most_tokens(value: LLMMessage | LLMResponse) -> int:
    """No byte-level BPE makes more tokens than there are bytes."""
    return len(value.model_dump_json().encode())
