"""Calls of chat-completions servers; import it where one is made, as it loads `openai`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from turnwise.errors import ModelUnavailableError
from turnwise.models.base import TokenSink, pass_on
from turnwise.models.openai.bodies import is_event_stream, looked_into, looked_into_async
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import process_connections
from turnwise.models.openai.errors import told_as_model_errors
from turnwise.models.openai.hints import address_hint
from turnwise.models.openai.stream import StreamAssembler
from turnwise.models.openai.wire import plain_json


@dataclass(frozen=True)
class Completion:
    """A completion as plain JSON, the headers it came with, and whether its pieces were passed on as they came."""

    completion: object
    headers: Mapping[str, str]
    streamed: bool


def call(config: OpenAIGPTConfig, body: dict[str, Any], sink: TokenSink) -> Completion:
    """Post `body`; raises the errors that `OpenAIGPT` names."""
    with told_as_model_errors(config), process_connections.client(config) as client:
        if not body.get("stream"):
            http = client.post(config.request_path, cast_to=httpx2.Response, body=body)
            return Completion(plain_json(http), http.headers, streamed=False)
        parts = StreamAssembler()
        with client.post(
            config.request_path, cast_to=object, body=body, stream=True, stream_cls=openai.Stream[Any]
        ) as chunks:
            chunks.response, is_object = looked_into(chunks.response)
            if is_object:
                chunks.response.read()
                return _whole(chunks.response, config)
            for chunk in _read(chunks):
                for text, kind in parts.feed(chunk):
                    sink(text, kind)
    return _ended(parts, chunks.response, config)


async def call_async(config: OpenAIGPTConfig, body: dict[str, Any], sink: TokenSink) -> Completion:
    """The same as `call`, without blocking the event loop."""
    with told_as_model_errors(config):
        async with process_connections.async_client(config) as client:
            if not body.get("stream"):
                http = await client.post(config.request_path, cast_to=httpx2.Response, body=body)
                return Completion(plain_json(http), http.headers, streamed=False)
            parts = StreamAssembler()
            stream = await client.post(
                config.request_path, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[Any]
            )
            async with stream as chunks:
                chunks.response, is_object = await looked_into_async(chunks.response)
                if is_object:
                    await chunks.response.aread()
                    return _whole(chunks.response, config)
                async for chunk in _read_async(chunks):
                    for text, kind in parts.feed(chunk):
                        await pass_on(sink, text, kind)
    return _ended(parts, chunks.response, config)


def _whole(http: httpx2.Response, config: OpenAIGPTConfig) -> Completion:
    """Return the completion of a server that does not stream."""
    if isinstance(body := plain_json(http), dict):
        return Completion(body, http.headers, streamed=False)
    raise _no_stream(http, config)


def _ended(parts: StreamAssembler, http: httpx2.Response, config: OpenAIGPTConfig) -> Completion:
    """Return the completion after the last chunk."""
    if parts.begun or is_event_stream(http):
        return Completion(parts.completion(), http.headers, streamed=True)
    raise _no_stream(http, config)


def _no_stream(http: httpx2.Response, config: OpenAIGPTConfig) -> ModelUnavailableError:
    kind = http.headers.get("content-type") or "nothing"
    return ModelUnavailableError(
        f"the model server answered with no stream of a chat completion, but with {kind[:100]}; check "
        f"{address_hint(config)}, which usually ends with /v1",
        may_have_cost=True,
        outage=False,
    )


# What the library raises for a stream whose lines are no UTF-8, or no JSON, or nested deeper than it reads.
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


def _read(chunks: Iterable[Any]) -> Iterator[Any]:
    """The chunks of a stream; raises `ModelUnavailableError` for what is none."""
    try:
        yield from chunks
    except _UNREADABLE as error:
        raise _unreadable(error) from error


async def _read_async(chunks: AsyncIterable[Any]) -> AsyncIterator[Any]:
    try:
        async for chunk in chunks:
            yield chunk
    except _UNREADABLE as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"the model server streamed something that cannot be read ({type(error).__name__}: {error})",
        may_have_cost=True,
        outage=False,
    )
