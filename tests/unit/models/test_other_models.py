"""A model that a caller names stays within what the application's configuration and the environment allow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise import AzureConfig, ChatAgent, ChatAgentConfig, OpenAIGPT
from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMConfig
from turnwise.models.mock import MockLMConfig
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.providers import PROVIDERS
from turnwise.models.renaming import at_the_same_provider, renamed
from turnwise.serving.attempts.other_models import OtherModels


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {name for p in PROVIDERS.values() for name in (*p.address_variables, *p.key_variables)}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GROQ_API_KEY", "key-of-groq")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure")


def own(**settings: Any) -> OpenAIGPTConfig:
    """A configuration with secrets of the application's."""
    secrets: dict[str, Any] = {"api_key": SecretStr("key-of-the-application"), "headers": {"X-Token": "secret"}}
    return OpenAIGPTConfig(**{"chat_model": "gpt-4.1", "organization": "org-1"} | secrets | settings)


@pytest.mark.parametrize("name", ["local/evil.example:80/v1", "llamacpp/169.254.169.254", "local/"])
@pytest.mark.parametrize(
    "config", [own(), own(api_base="https://router.example/v1"), LLMConfig(chat_model="gpt-4.1"), MockLMConfig()]
)
def test_a_caller_can_name_no_server(config: LLMConfig, name: str) -> None:
    with pytest.raises(ConfigurationError, match="names a server by its address"):
        renamed(config, name)


def test_an_application_s_own_address_is_no_caller_s() -> None:
    config = own(chat_model="local/localhost:8000/v1")
    assert renamed(config, "local/localhost:8000/v1") is config


@pytest.mark.parametrize(
    ("before", "name", "address", "key"),
    [
        ("gpt-4.1", "groq/llama-3.3-70b", "https://api.groq.com/openai/v1", "key-of-groq"),
        ("groq/llama-3.3-70b", "gpt-4.1", "https://api.openai.com/v1", ""),
        ("local/localhost:8000/v1", "gpt-4.1", "https://api.openai.com/v1", ""),
    ],
)
def test_secrets_of_a_configuration_go_to_no_other_provider(before: str, name: str, address: str, key: str) -> None:
    other = renamed(own(chat_model=before, provider="openai"), name)
    assert isinstance(other, OpenAIGPTConfig)
    assert (other.base_url, other.key, other.headers, other.organization) == (address, key, {}, None)
    assert other.provider is None


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai/gpt-5-mini"])
def test_another_model_of_the_same_provider_is_asked_as_before(name: str) -> None:
    config = own()
    other = renamed(config, name)
    assert isinstance(other, OpenAIGPTConfig)
    assert (other.base_url, other.served_model, other.key) == (config.base_url, "gpt-5-mini", config.key)
    assert (other.headers, other.organization) == (config.headers, config.organization)


@pytest.mark.parametrize("name", ["gpt-5-mini", "groq/llama-3.3-70b", "azure/dep", "vllm/llama", "acme/llama"])
@pytest.mark.parametrize("given", [True, False])
def test_an_application_s_own_server_stays_and_so_does_its_key(
    name: str, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    at = "https://router.example/v1"
    config = own(api_base=at) if given else own(api_base=at, api_key=None)
    other = renamed(config, name)
    assert isinstance(other, OpenAIGPTConfig)
    assert (other.base_url, other.key) == (at, "key-of-the-application" if given else "key-of-openai")
    assert (other.headers, other.organization) == (config.headers, config.organization)


def azures(**settings: Any) -> AzureConfig:
    given = {"chat_model": "gpt-4o", "deployment_name": "ours", "api_base": "https://ours.openai.azure.com"}
    return AzureConfig(**given | {"api_key": SecretStr("key-of-the-application")} | settings)


@pytest.mark.parametrize("name", ["gpt-4.1-nano", "azure/gpt-4.1-nano"])
@pytest.mark.parametrize("in_environment", [True, False])
def test_azure_asks_for_the_model_that_is_charged(
    name: str, in_environment: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = azures()
    if in_environment:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com")
        config = azures(api_base=None)
    other = renamed(config, name)
    assert isinstance(other, AzureConfig)

    assert at_the_same_provider(config, name)
    assert (other.served_model, other.known_model) == ("gpt-4.1-nano", "gpt-4.1-nano")
    assert (other.base_url, other.key) == ("https://ours.openai.azure.com/openai/v1", "key-of-the-application")


@pytest.mark.parametrize("name", ["anthropic/claude-3", "openai/gpt-4o"])
def test_another_provider_is_not_at_azure(name: str) -> None:
    assert not at_the_same_provider(azures(), name)
    with pytest.raises(ConfigurationError, match="is not at Azure"):
        renamed(azures(), name)


def test_a_client_of_azure_that_asks_one_deployment_asks_no_other() -> None:
    client = SimpleNamespace(base_url="https://ours.openai.azure.com/openai/deployments/ours/")
    config = azures(azure_openai_client_provider=lambda: client)

    with pytest.raises(ConfigurationError, match="bound to one deployment"):
        renamed(config, "gpt-4.1-nano")


def test_a_client_of_azure_that_the_program_brings_needs_no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    client = SimpleNamespace(base_url="https://ours.openai.azure.com/openai/v1")
    assert azures(api_key=None).needs_key
    assert not azures(api_key=None, azure_openai_client_provider=lambda: client).needs_key


def test_another_model_is_made_after_the_one_that_an_agent_was_given() -> None:
    agent = ChatAgent(ChatAgentConfig())  # OpenAI's
    agent.llm = OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o", api_base="http://localhost:4000/v1"))
    OtherModels().give(agent, "gpt-4.1-nano")
    assert isinstance(agent.llm, OpenAIGPT)

    assert agent.llm.config.route[:2] == ("http://localhost:4000/v1", "gpt-4.1-nano")
