"""The client against a server that has limits: what is announced travels with answers and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise.errors import ModelRateLimitError
from turnwise.models.base import LLMMessage, LLMResponse, Role
from turnwise.models.client import ModelClient
from turnwise.models.create import create_model
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.testing.fake_llm.server import FakeLLMServer

HELLO = [LLMMessage(role=Role.USER, content="hello")]


@pytest.fixture
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer([{"reply": "hello"}], limits={"requests": 2, "tokens": 10_000, "window": 3600}) as running:
        yield running


def model_of(server: FakeLLMServer, **settings: Any) -> ModelClient:
    model = create_model(OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), **settings))
    assert isinstance(model, ModelClient)
    return model


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
def test_limits_travel_with_every_answer(server: FakeLLMServer, stream: bool, awaited: bool) -> None:
    model = model_of(server, stream=stream)

    def ask() -> LLMResponse:
        # Not `chat`, which would keep to the limits and wait.
        if awaited:
            return asyncio.run(model.answer_async(HELLO, 100, None, None))
        return model.answer(HELLO, 100, None, None)

    told = ask().rate_limits
    assert told is not None and told.requests is not None and told.tokens is not None
    assert (told.requests.limit, told.requests.remaining) == (2, 1)
    assert told.requests.reset == pytest.approx(3600, abs=60)
    assert told.tokens.limit == 10_000 and told.tokens.remaining < 9_900
    ask()
    with pytest.raises(ModelRateLimitError, match="2 requests in 3600 s") as caught:
        ask()
    limits = caught.value.limits
    assert limits is not None and limits.requests is not None
    assert limits.requests.remaining == 0
    assert caught.value.retry_after == limits.retry_after == pytest.approx(3600, abs=60)
    assert server.stats()["rate_limited"] == 1 and server.stats()["requests"] == 2


def test_a_server_without_limits_announces_nothing() -> None:
    with FakeLLMServer([{"reply": "hello"}]) as server:
        assert model_of(server).chat(HELLO, 100).rate_limits is None
