"""Errors of models name what is to be set for their own provider, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import ModelError, TurnwiseError
from turnwise.models.base import LLMMessage, Role
from turnwise.models.create import create_model
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.embeddings import parse_embeddings
from turnwise.models.openai.wire import parse_completion
from turnwise.models.providers import PROVIDERS
from turnwise.testing.fake_llm.server import FakeLLMServer

RULES: list[dict[str, Any]] = [
    {"match": "refuse", "fault": {"status": 401}},
    {"match": "elsewhere", "fault": {"status": 404}},
]
AWAY = "127.0.0.1:9"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {name for p in PROVIDERS.values() for name in (*p.address_variables, *p.key_variables)}:
        monkeypatch.delenv(name, raising=False)


def told(text: str, *, asynchronous: bool = False, **settings: Any) -> str:
    """The error of a call."""
    model = create_model(OpenAIGPTConfig(**settings))
    assert model is not None
    messages = [LLMMessage(role=Role.USER, content=text)]
    with pytest.raises(TurnwiseError) as error:
        asyncio.run(model.achat(messages, max_tokens=9)) if asynchronous else model.chat(messages, max_tokens=9)
    return str(error.value)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_refused_key_is_that_of_the_provider(
    server: FakeLLMServer, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    monkeypatch.setenv("LITELLM_API_BASE", server.base_url)
    monkeypatch.setenv("LITELLM_API_KEY", "wrong")
    error = told("refuse", chat_model="litellm/gpt-4.1", asynchronous=asynchronous)
    assert error.endswith("; check LITELLM_API_KEY or the configuration's api_key")

    monkeypatch.setenv("OLLAMA_HOST", server.base_url)
    assert told("refuse", chat_model="ollama/qwen3").endswith("; check the configuration's api_key")


@pytest.mark.parametrize(
    ("model", "variables", "hint"),
    [
        ("ollama/qwen3", {"OLLAMA_HOST": AWAY}, "OLLAMA_HOST or api_base"),
        ("gpt-4.1", {"OPENAI_API_BASE": f"http://{AWAY}/v1"}, "OPENAI_BASE_URL, OPENAI_API_BASE or api_base"),
        (f"local/{AWAY}/v1", {}, "the address in the model's name, or api_base"),
    ],
)
def test_a_server_that_is_away_is_where_the_provider_s_variables_say(
    model: str, variables: dict[str, str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert told("hi", chat_model=model).endswith(f"; check that the server runs, and {hint}")


def test_addresses_in_every_other_error_are_those_of_the_provider(
    server: FakeLLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.base_url)
    wanted = "OLLAMA_HOST or api_base"
    assert f"check the model's name, and {wanted}" in told("elsewhere", chat_model="ollama/qwen3")
    monkeypatch.setenv("OLLAMA_HOST", "http://x..y")
    assert f"check {wanted}, which begins with http://" in told("hi", chat_model="ollama/qwen3")

    config = OpenAIGPTConfig(chat_model="ollama/qwen3", api_base=server.base_url)
    for parse in (lambda: parse_completion({}, config), lambda: parse_embeddings({}, 1, config)):
        with pytest.raises(ModelError, match=f"check {wanted}, which usually ends with /v1"):
            parse()


def test_a_provider_without_a_variable_for_its_address_has_its_api_base(server: FakeLLMServer) -> None:
    error = told("elsewhere", chat_model="vllm/meta-llama/Llama-3", api_base=server.base_url)
    assert error.endswith("; check the model's name, and api_base (it usually ends with /v1)")


@pytest.mark.parametrize(
    ("settings", "set_what"),
    [
        ({"chat_model": "groq/llama-3"}, "set GROQ_API_KEY or the configuration's api_key"),
        ({"chat_model": "gemini/flash"}, "set GEMINI_API_KEY, GOOGLE_API_KEY or the configuration's api_key"),
        ({"api_base": "https://models.example/v1"}, "set OPENAI_API_KEY or the configuration's api_key"),
    ],
)
def test_a_missing_key_of_another_server_has_no_advice_about_openai_s_address(
    settings: dict[str, Any], set_what: str
) -> None:
    error = told("hi", **settings)
    assert f": {set_what}; " in error
    assert "fake-llm" not in error
    assert "start `turnwise fake-llm SCRIPT` and set OPENAI_BASE_URL" in told("hi", chat_model="openai/gpt-4.1")


def test_a_missing_key_is_said_to_belong_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-of-the-file\n")
    error = told("hi", chat_model="gpt-4.1")
    assert error.endswith(
        "Turnwise reads a file `.env` for its own settings only, so a key's variable belongs in the environment"
    )
