"""Calls of chat-completions servers; import it where one is made, as it loads `openai`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from turnwise.llm.base import TokenSink, pass_on
from turnwise.llm.openai_config import OpenAIGPTConfig
from turnwise.llm.openai_connections import process_connections
from turnwise.llm.openai_errors import told_as_model_errors
from turnwise.llm.openai_stream import StreamAssembler
from turnwise.llm.openai_wire import plain_json

_PATH = "/chat/completions"


@dataclass(frozen=True)
class Answer:
    """A completion as plain JSON, the headers it came with, and whether its pieces were passed on as they came."""

    completion: object
    headers: Mapping[str, str]
    streamed: bool


def call(config: OpenAIGPTConfig, body: dict[str, Any], sink: TokenSink) -> Answer:
    """Post `body`; raises the errors that `OpenAIGPT` names."""
    with told_as_model_errors(config.chat_model, config.base_url), process_connections.client(config) as client:
        if not body.get("stream"):
            http = client.post(_PATH, cast_to=httpx2.Response, body=body)
            return Answer(plain_json(http), http.headers, streamed=False)
        parts = StreamAssembler()
        with client.post(_PATH, cast_to=object, body=body, stream=True, stream_cls=openai.Stream[Any]) as chunks:
            for chunk in chunks:
                for text, kind in parts.feed(chunk):
                    sink(text, kind)
    return Answer(parts.completion(), chunks.response.headers, streamed=True)


async def call_async(config: OpenAIGPTConfig, body: dict[str, Any], sink: TokenSink) -> Answer:
    """The same as `call`, without blocking the event loop."""
    with told_as_model_errors(config.chat_model, config.base_url):
        async with process_connections.async_client(config) as client:
            if not body.get("stream"):
                http = await client.post(_PATH, cast_to=httpx2.Response, body=body)
                return Answer(plain_json(http), http.headers, streamed=False)
            parts = StreamAssembler()
            stream = await client.post(
                _PATH, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[Any]
            )
            async with stream as chunks:
                async for chunk in chunks:
                    for text, kind in parts.feed(chunk):
                        await pass_on(sink, text, kind)
    return Answer(parts.completion(), chunks.response.headers, streamed=True)
