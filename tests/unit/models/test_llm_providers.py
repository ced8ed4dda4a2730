"""A model's name may begin with its provider, which decides where prompts go and whose key goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise import ChatAgent, ChatAgentConfig
from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMMessage, Role
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import _options
from turnwise.models.openai.wire import request_body
from turnwise.models.providers import PROVIDERS

VARIABLES = {name for p in PROVIDERS.values() for name in (*p.address_variables, *p.key_variables)}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://openai.example/v1")


@pytest.mark.parametrize(
    ("name", "address", "model"),
    [
        ("gpt-4.1-mini", "https://openai.example/v1", "gpt-4.1-mini"),
        ("openai/gpt-4.1", "https://openai.example/v1", "gpt-4.1"),
        ("openai/meta-llama/Llama-3", "https://openai.example/v1", "meta-llama/Llama-3"),
        ("ollama/qwen3:8b", "http://localhost:11434/v1", "qwen3:8b"),
        ("local/localhost:8000/v1", "http://localhost:8000/v1", "localhost:8000/v1"),
        ("llamacpp/10.0.0.7:8080/v1", "http://10.0.0.7:8080/v1", "10.0.0.7:8080/v1"),
        ("vllm/meta-llama/Llama-3", "http://localhost:8000/v1", "meta-llama/Llama-3"),
        ("groq/llama-3.3-70b", "https://api.groq.com/openai/v1", "llama-3.3-70b"),
        ("gemini/gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-pro"),
        ("openrouter/deepseek/deepseek-chat", "https://openrouter.ai/api/v1", "deepseek/deepseek-chat"),
    ],
)
def test_a_name_stands_for_an_address_and_a_model_there(name: str, address: str, model: str) -> None:
    config = OpenAIGPTConfig(chat_model=name)
    body = request_body(config, [LLMMessage(role=Role.USER, content="hi")], 10, None)
    assert (config.base_url, body["model"]) == (address, model)


@pytest.mark.parametrize("name", sorted(name for name, provider in PROVIDERS.items() if name != "openai"))
def test_no_provider_is_sent_the_prompts_or_the_key_meant_for_openai(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in PROVIDERS[name].address_variables:
        monkeypatch.setenv(variable, "https://own.example")
    for variable in PROVIDERS[name].key_variables:
        monkeypatch.setenv(variable, "key-of-its-own")
    options = _options(OpenAIGPTConfig(chat_model=f"{name}/some.host:1/v1"))
    assert "openai.example" not in options["base_url"]
    assert options["api_key"] == ("key-of-its-own" if PROVIDERS[name].key_variables else "local")


@pytest.mark.parametrize("base", [None, "https://api.openai.com/v1"])
def test_an_unknown_provider_is_refused_before_anything_is_sent(
    base: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    if base is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base)
    with pytest.raises(ConfigurationError, match=r"'lokal'.*known are .*ollama.*api_base"):
        ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="lokal/llama3")))


def test_a_slash_is_part_of_the_name_at_a_server_of_ones_own() -> None:
    config = OpenAIGPTConfig(chat_model="meta-llama/Llama-3")
    body = request_body(config, [LLMMessage(role=Role.USER, content="hi")], 10, None)
    assert (config.base_url, body["model"]) == ("https://openai.example/v1", "meta-llama/Llama-3")


def test_a_missing_key_is_asked_for_by_the_name_of_its_variable() -> None:
    with pytest.raises(ConfigurationError, match="GROQ_API_KEY"):
        _options(OpenAIGPTConfig(chat_model="groq/llama-3.3-70b"))


def test_a_provider_without_an_address_asks_for_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    config = OpenAIGPTConfig(chat_model="azure/my-deployment")
    ChatAgent(ChatAgentConfig(llm=config))  # a process that calls no model does without
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_ENDPOINT"):
        _ = config.base_url
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    assert config.base_url == "https://mine.openai.azure.com/openai/v1"
    assert (config.served_model, config.limit_field) == ("my-deployment", "max_completion_tokens")


def test_a_given_address_takes_any_name_as_it_stands() -> None:
    at = "https://router.example/v1"
    for name in ("deepseek/deepseek-chat", "meta-llama/Llama-3", "openai/gpt-4.1"):
        config = OpenAIGPTConfig(chat_model=name, api_base=at)
        assert (config.base_url, config.served_model, config.key) == (at, name, "key-of-openai")
    own = OpenAIGPTConfig(chat_model="ollama/qwen3", api_base="http://gpu.example:11434/v1")
    assert (own.base_url, own.served_model, own.key) == ("http://gpu.example:11434/v1", "qwen3", "")


@pytest.mark.parametrize(
    ("name", "api_base", "served", "key"),
    [
        ("azure/my-deployment", "https://mine.openai.azure.com/openai/v1", "my-deployment", "key-of-azure"),
        ("groq/openai/gpt-oss-20b", "https://API.groq.com/openai/v1/", "openai/gpt-oss-20b", "key-of-groq"),
        ("openai/gpt-4.1", "https://api.openai.com/v1", "gpt-4.1", "key-of-openai"),
        ("groq/llama-3.3-70b", "https://router.example/v1", "groq/llama-3.3-70b", "key-of-openai"),
        ("local/qwen3", "http://gpu.example:8000/v1", "qwen3", ""),
        ("llamacpp/qwen3", "http://gpu.example:8000/v1", "qwen3", ""),
    ],
)
def test_a_provider_s_own_server_is_told_the_rest_of_the_name_and_its_own_key(
    name: str, api_base: str, served: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure")
    monkeypatch.setenv("GROQ_API_KEY", "key-of-groq")
    config = OpenAIGPTConfig(chat_model=name, api_base=api_base)
    assert (config.base_url, config.served_model, config.key) == (api_base, served, key)


def test_a_name_that_lacks_its_address_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'local/' lacks the address.*local/localhost:8000/v1"):
        ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="local/")))
    with pytest.raises(ConfigurationError, match="lacks the address"):
        _ = OpenAIGPTConfig(chat_model="llamacpp/").base_url


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("gpu.example", "http://gpu.example:11434/v1"),
        ("gpu.example:8080", "http://gpu.example:8080/v1"),
        ("http://gpu.example/", "http://gpu.example/v1"),
        ("https://me:secret@gpu.example:8443/ollama/v1", "https://me:secret@gpu.example:8443/ollama/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        (":8080", "http://127.0.0.1:8080/v1"),
        ("http://[::]:8080", "http://127.0.0.1:8080/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(
    given: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert OpenAIGPTConfig(chat_model="ollama/qwen3").base_url == address


def test_an_address_of_ollama_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "gpu.example:port")
    with pytest.raises(ConfigurationError, match=r"'gpu.example:port' is not the address of a server"):
        _ = OpenAIGPTConfig(chat_model="ollama/qwen3").base_url


def test_addresses_in_the_environment_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "https://older.example/v1")
    assert OpenAIGPTConfig().base_url == "https://openai.example/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert OpenAIGPTConfig().base_url == "https://older.example/v1"
    monkeypatch.setenv("OLLAMA_HOST", "gpu.example:11434")
    assert OpenAIGPTConfig(chat_model="ollama/qwen3").base_url == "http://gpu.example:11434/v1"


def test_the_docs_list_every_provider_with_its_address_and_variables() -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    told = {row[0].strip("`/"): row[1:] for row in rows if row[0].endswith("/`")}
    assert told == {
        name: [
            "what follows the prefix" if p.in_name else f"`{p.address}`" if p.address else "-",
            ", ".join(f"`{variable}`" for variable in p.address_variables) or "-",
            ", ".join(f"`{variable}`" for variable in p.key_variables) or "-",
        ]
        for name, p in PROVIDERS.items()
    }
