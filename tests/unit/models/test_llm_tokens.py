from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise import LLMMessage, OpenAIGPTConfig, Role
from turnwise.models.base import UNLIMITED_CONTEXT, LLMConfig
from turnwise.models.create import create_model
from turnwise.models.tokens import tokenizer
from turnwise.models.tokens.estimate import beginning, estimated_tokens, shortened
from turnwise.models.tokens.price_list import known_context_length


@given(st.text(), st.integers(0, 50))
def test_the_beginning_of_a_text_has_no_more_tokens_than_asked_for(text: str, tokens: int) -> None:
    kept = beginning(text, tokens)
    assert text.startswith(kept)
    assert estimated_tokens(kept) <= tokens or kept == text == ""
    assert shortened(text, tokens).startswith(kept)


def test_an_estimate_takes_seven_bytes_for_two_tokens() -> None:
    assert [estimated_tokens("x" * size) for size in (0, 1, 7, 8, 35)] == [0, 1, 2, 3, 10]
    assert estimated_tokens("語" * 7) == 6
    assert estimated_tokens("\ud800") == 1


def test_the_context_of_a_model_is_known_by_its_name() -> None:
    assert known_context_length("gpt-4o", base_url="https://api.openai.com/v1") == 128_000
    assert known_context_length("gpt-4o", base_url="http://localhost:8000/v1") == 128_000
    assert known_context_length("claude-sonnet-4-5", provider="anthropic") == 200_000
    assert known_context_length("our-own", base_url="http://localhost:8000/v1") is None


def test_a_configured_context_wins_and_an_unknown_one_is_no_limit() -> None:
    lengths = []
    for config in (
        OpenAIGPTConfig(chat_model="gpt-4o"),
        OpenAIGPTConfig(chat_model="gpt-4o", chat_context_length=9_000),
        OpenAIGPTConfig(chat_model="our-own"),
        LLMConfig(type="mock"),
        LLMConfig(type="mock", chat_context_length=9_000),
    ):
        model = create_model(config)
        assert model is not None
        lengths.append(model.chat_context_length())
    assert lengths == [128_000, 9_000, UNLIMITED_CONTEXT, UNLIMITED_CONTEXT, 9_000]


def _forget() -> None:
    tokenizer.tokenizer_for.cache_clear()
    tokenizer._counter.cache_clear()


def _put(directory: Path, content: bytes) -> None:
    url = tokenizer._URL.format(name="o200k_base")
    (directory / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).write_bytes(content)


@pytest.mark.parametrize("content", [None, b"not the vocabulary"])
def test_without_its_vocabulary_on_this_machine_there_is_no_tokenizer_and_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    pytest.importorskip("tiktoken")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    if content is not None:
        _put(tmp_path, content)
    _forget()
    assert tokenizer.tokenizer_for("gpt-4o") is None
    _forget()


def test_a_model_that_the_tokenizer_does_not_know_is_estimated() -> None:
    assert tokenizer.tokenizer_for("our-own") is None
    model = create_model(OpenAIGPTConfig(chat_model="our-own"))
    assert model is not None
    assert model.count_tokens("x" * 35) == 10


def test_with_its_vocabulary_at_hand_tokens_are_counted_exactly() -> None:
    _forget()
    count = tokenizer.tokenizer_for("gpt-4o")
    if count is None:
        pytest.skip("tiktoken's vocabulary o200k_base is not in its cache (TIKTOKEN_CACHE_DIR)")
    assert [count(text) for text in ("", "hello world", "hello world", "語" * 3)] == [0, 2, 2, 3]


def test_a_message_is_a_small_part_of_what_is_stored() -> None:
    assert LLMMessage(role=Role.USER, content="a").model_dump(exclude_defaults=True) == {"role": "user", "content": "a"}
