"""Settings of agents and models that also accept, without effect, those of `langroid`.

Each is a thin subclass of Turnwise's own, which accept no unknown settings. The table of `turnwise.porting.table` says
why a setting has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, SerializeAsAny, model_validator

from turnwise.agents import config as agents
from turnwise.models import base, mock
from turnwise.models.openai import azure_config, config
from turnwise.porting.accepting import Accepting, without_effect
from turnwise.porting.table import SETTINGS


class LLMConfig(Accepting, base.LLMConfig):
    """`turnwise.LLMConfig`; settings without effect here are accepted with a warning."""

    _without_effect: ClassVar[Mapping[str, str]] = SETTINGS["LLMConfig"]

    async_stream_quiet: bool = without_effect(False)
    cache_config: Any = without_effect()
    completion_context_length: int | None = without_effect()
    completion_model: str = without_effect("")
    formatter: str | None = without_effect()
    retry_params: Any = without_effect()
    streamer: Any = without_effect()
    streamer_async: Any = without_effect()
    thought_delimiters: tuple[str, str] = without_effect(("<think>", "</think>"))
    use_chat_for_completion: bool = without_effect(True)
    use_completion_for_chat: bool = without_effect(False)

    @model_validator(mode="before")
    @classmethod
    def _take_none_as_default(cls, given: Any) -> Any:
        """There, None stands for the model's own greatest length of an answer."""
        if isinstance(given, dict) and given.get("max_output_tokens", 0) is None:
            return {name: value for name, value in given.items() if name != "max_output_tokens"}
        return given


class MockLMConfig(mock.MockLMConfig, LLMConfig):
    """`turnwise.MockLMConfig`; settings without effect here are accepted with a warning."""


class OpenAIGPTConfig(config.OpenAIGPTConfig, LLMConfig):
    """`turnwise.OpenAIGPTConfig`; settings without effect here are accepted with a warning."""

    _without_effect: ClassVar[Mapping[str, str]] = SETTINGS["OpenAIGPTConfig"]
    _instead: ClassVar[Mapping[str, str]] = {
        "api_key_provider": "give the key itself: 'api_key'",
        "http_client_config": "requests go through the openai client's own connections",
        "http_client_factory": "requests go through the openai client's own connections",
        "http_verify_ssl": "certificates are always checked; SSL_CERT_FILE names a bundle of one's own",
        "langdb_params": "give the proxy's address to 'api_base', and what it wants to 'headers'",
        "litellm_proxy": "name the model 'litellm-proxy/...', and set LITELLM_API_BASE and LITELLM_API_KEY",
        "portkey_params": "give the proxy's address to 'api_base', and what it wants to 'headers'",
    }

    chat_model_orig: str | None = without_effect()
    hf_formatter: Any = without_effect()
    litellm: bool = without_effect(False)
    ollama: bool = without_effect(False)
    run_on_first_use: Any = without_effect()
    supports_strict_tools: bool | None = without_effect()
    use_cached_client: bool = without_effect(True)


class AzureConfig(azure_config.AzureConfig, OpenAIGPTConfig):
    """`turnwise.AzureConfig`; settings without effect here are accepted with a warning."""


class AgentConfig(Accepting, agents.AgentConfig):
    """`turnwise.AgentConfig`; settings without effect here are accepted with a warning."""

    _without_effect: ClassVar[Mapping[str, str]] = SETTINGS["AgentConfig"]

    add_to_registry: bool = without_effect(True)
    debug: bool = without_effect(False)
    hide_agent_response: bool = without_effect(False)
    human_prompt: str = without_effect("")
    llm: SerializeAsAny[base.LLMConfig] | None = Field(default_factory=OpenAIGPTConfig)
    parsing: Any = without_effect()
    prompts: Any = without_effect()
    show_stats: bool = without_effect(True)


class ChatAgentConfig(agents.ChatAgentConfig, AgentConfig):
    """`turnwise.ChatAgentConfig`; settings without effect here are accepted with a warning."""

    _without_effect: ClassVar[Mapping[str, str]] = SETTINGS["ChatAgentConfig"]

    full_citations: bool = without_effect(True)
    # Of the bases, the first decides on a default.
    llm: SerializeAsAny[base.LLMConfig] | None = Field(default_factory=OpenAIGPTConfig)
    search_for_tools_everywhere: bool = without_effect(True)
