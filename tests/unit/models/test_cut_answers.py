"""Answers that end early, or that no client can read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.raw_model import RawAnswer, raw_model

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, RetryPolicy, Task
from turnwise.errors import CallTimeoutError, ModelError, ModelRequestError, ModelUnavailableError

_CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "word "}}]}\n\n'


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_a_cut_answer_whose_end_is_that_of_its_connection_took_too_long(streamed: bool) -> None:
    over = threading.Event()

    def pieces() -> Iterator[bytes]:
        while not over.wait(0.05):
            yield _CHUNK if streamed else b" "

    def answer(asked: dict[str, Any]) -> RawAnswer:
        kind = "text/event-stream" if asked.get("stream") else "application/json"
        return RawAnswer(headers={"content-type": kind}, pieces=pieces(), with_length=False)

    with raw_model(answer) as base:
        model = OpenAIGPTConfig(chat_model="m", api_base=base, api_key=SecretStr("k"), stream=streamed)
        config = ChatAgentConfig(name="Slow", llm=model, answer_timeout=1, retry=RetryPolicy.NEVER)
        task = Task(ChatAgent(config), interactive=False, single_round=True)
        try:
            with pytest.raises(CallTimeoutError, match="took longer than 1 s"):
                task.run("hi")
        finally:
            over.set()


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            RawAnswer(status=307, headers={"location": "/v1/chat/completions"}),
            ModelRequestError,
            "redirects without end",
        ),
        (
            RawAnswer(headers={"content-type": "application/json", "content-encoding": "gzip"}, pieces=(b"no gzip",)),
            ModelUnavailableError,
            "compressed body cannot be read",
        ),
    ],
    ids=["redirects", "compressed"],
)
def test_what_no_waiting_helps_is_no_outage(answer: RawAnswer, kind: type[ModelError], said: str) -> None:
    with raw_model(lambda _asked: answer) as base:
        model = OpenAIGPTConfig(chat_model="m", api_base=base, api_key=SecretStr("k"))
        agent = ChatAgent(ChatAgentConfig(llm=model, retry=RetryPolicy.NEVER))
        with pytest.raises(kind, match=said) as raised:
            agent.llm_response("hi")
    assert not getattr(raised.value, "outage", False)
