"""Answers to a streamed call that are no stream, and errors within one."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.raw_model import RawAnswer, completion, raw_model

from turnwise import OpenAIGPT, OpenAIGPTConfig
from turnwise.errors import ModelError, ModelRateLimitError, ModelRefusedError, ModelRequestError, ModelUnavailableError
from turnwise.models.base import LLMResponse, StreamEventType

STREAM = {"content-type": "text/event-stream"}
CHUNK = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def typed(kind: str | None) -> dict[str, str]:
    return {} if kind is None else {"content-type": kind}


def asked(
    answer: RawAnswer, *, awaited: bool = False, then: Callable[[], object] = lambda: None
) -> tuple[LLMResponse, list[tuple[str, StreamEventType]]]:
    """The answer to a streamed call, and what its sink heard; `then` is called after each piece."""
    heard: list[tuple[str, StreamEventType]] = []

    def sink(text: str, kind: StreamEventType) -> None:
        heard.append((text, kind))
        then()

    with raw_model(lambda _: answer) as url:
        model = OpenAIGPT(OpenAIGPTConfig(chat_model="m", api_base=url, api_key=SecretStr("k"), stream=True))
        if awaited:
            return asyncio.run(model.achat("hello", on_token=sink)), heard
        return model.chat("hello", on_token=sink), heard


def streamed(*chunks: Any) -> RawAnswer:
    return RawAnswer(headers=STREAM, pieces=tuple(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks))


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        RawAnswer(headers={"content-type": "text/html"}, pieces=(b"<html>sign in</html>",)),
        RawAnswer(headers={}, pieces=(b"",)),
        RawAnswer(pieces=(b"{",)),
        RawAnswer(pieces=(b'{"detail": "ok"}',)),
    ],
)
def test_an_answer_that_is_no_stream_is_no_outage(answer: RawAnswer, awaited: bool) -> None:
    with pytest.raises(ModelUnavailableError, match="api_base") as caught:
        asked(answer, awaited=awaited)
    assert not caught.value.outage


def test_a_stream_without_a_chunk_broke_off() -> None:
    with pytest.raises(ModelUnavailableError, match="broke off after 0 characters") as caught:
        asked(streamed())
    assert caught.value.outage


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("encode", [bytes, gzip.compress])
@pytest.mark.parametrize("before", [b"", b"\n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", None])
def test_a_whole_completion_is_taken_as_one(
    kind: str | None, before: bytes, encode: Callable[[bytes], bytes], awaited: bool
) -> None:
    whole = completion({"content": "hi"})
    headers = typed(kind) | ({"content-encoding": "gzip"} if encode is gzip.compress else {})
    body = encode(b"".join((before, *whole.pieces)))
    answer = RawAnswer(headers=headers, pieces=tuple(bytes([byte]) for byte in body))
    response, heard = asked(answer, awaited=awaited)
    assert response.message == "hi"
    assert heard == [("hi", StreamEventType.TEXT)]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("before", [b"", b"\r\n", b": wait\n\n", b"event: message\n"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", None, STREAM["content-type"]])
def test_a_stream_of_any_content_type_is_passed_on_as_it_comes(kind: str | None, before: bytes, awaited: bool) -> None:
    was_heard, in_time = threading.Event(), []

    def pieces() -> Iterator[bytes]:
        first, end = streamed(CHUNK, END).pieces
        yield before + first
        in_time.append(was_heard.wait(10))
        yield end

    answer = RawAnswer(headers=typed(kind), pieces=pieces(), with_length=False)
    response, heard = asked(answer, awaited=awaited, then=was_heard.set)
    assert response.message == "a"
    assert heard == [("a", StreamEventType.TEXT)]
    assert in_time == [True]


@pytest.mark.parametrize("before", [(), (CHUNK,)])
@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (400, ModelRequestError, "chat_context_length"),
        ("400", ModelRequestError, "chat_context_length"),
        ("context_length_exceeded", ModelRequestError, "chat_context_length"),
        ("content_filter", ModelRefusedError, "filter"),
        (401, ModelRequestError, "OPENAI_API_KEY"),
        (429, ModelRateLimitError, "streamed the error 429"),
        ("insufficient_quota", ModelRequestError, "no credit"),
        (503, ModelUnavailableError, "streamed the error 503"),
    ],
)
def test_an_error_within_a_stream_keeps_its_kind(
    before: tuple[Any, ...], code: Any, kind: type[ModelError], says: str
) -> None:
    error = {"error": {"code": code, "message": "This model's maximum context length is 10 tokens"}}
    with pytest.raises(kind, match=says) as caught:
        asked(streamed(*before, error))
    assert type(caught.value) is kind
    assert getattr(caught.value, "outage", True)


@pytest.mark.parametrize(
    ("named", "kind", "says"),
    [
        ({"code": "rate_limit_exceeded", "type": "tokens"}, ModelRateLimitError, "the error rate_limit_exceeded"),
        ({"code": None, "type": "rate_limit_error"}, ModelRateLimitError, "the error rate_limit_error"),
        ({"code": None, "type": "insufficient_quota"}, ModelRequestError, "no credit"),
        ({"code": None, "type": "invalid_request_error"}, ModelRequestError, "the error invalid_request_error"),
        ({"code": "tool_use_failed", "type": "invalid_request_error"}, ModelRequestError, "the error tool_use_failed"),
        ({"code": "invalid_api_key", "type": "invalid_request_error"}, ModelRequestError, "OPENAI_API_KEY"),
        ({"code": "model_not_found", "type": "invalid_request_error"}, ModelRequestError, "the model's name"),
        ({"code": "server_error"}, ModelUnavailableError, "the error server_error"),
        ({"type": "overloaded_error"}, ModelUnavailableError, "the error overloaded_error"),
        ({"code": 503, "type": "invalid_request_error"}, ModelUnavailableError, "the error 503"),
    ],
)
def test_an_error_within_a_stream_keeps_the_kind_that_its_words_name(
    named: dict[str, Any], kind: type[ModelError], says: str
) -> None:
    with pytest.raises(kind, match=says) as caught:
        asked(streamed({"error": {"message": "slow down"} | named}))
    assert type(caught.value) is kind
    assert getattr(caught.value, "outage", True)


@pytest.mark.parametrize("code", [None, "oops", 99, 6000, "²", True, {"a": 1}])
@pytest.mark.parametrize("type", [None, "oops", 429, {"a": 1}, ["a"]])
def test_an_error_within_a_stream_that_names_no_kind_is_an_unusable_answer(code: Any, type: Any) -> None:
    with pytest.raises(ModelUnavailableError, match="unusable answer") as caught:
        asked(streamed({"error": {"code": code, "type": type, "message": "no"}}))
    assert not caught.value.outage
