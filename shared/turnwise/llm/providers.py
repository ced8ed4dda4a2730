"""Providers that a model's name may begin with, such as `groq/`, and the address that such a name stands for.

A prompt goes to the provider that its model's name says, and nowhere else. So a name with an unknown prefix is refused:
it may name a server on this machine, and OpenAI would get what was not meant for it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from turnwise.errors import ConfigurationError

OPENAI_URL = "https://api.openai.com/v1"


class Provider(NamedTuple):
    """A provider: its documented OpenAI-compatible address, and the variables that say otherwise.

    - `address`: "" for one that has no address of its own.
    - `address_variables`: environment variables with an address, the first that is set wins.
    - `key_variables`: those with its API key; `needs_key=False` for servers that people run themselves.
    - `path`: added to an address out of the environment that does not end with it.
    - `in_name`: the address is what follows the prefix.
    """

    address: str = ""
    address_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    path: str = ""
    in_name: bool = False


# Addresses as the providers' own pages on OpenAI compatibility give them.
_OPENAI = Provider(OPENAI_URL, ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",))
_LITELLM = Provider("", ("LITELLM_API_BASE",), ("LITELLM_API_KEY",), needs_key=False)
PROVIDERS = {
    "openai": _OPENAI,
    "anthropic": Provider("https://api.anthropic.com/v1", (), ("ANTHROPIC_API_KEY",)),
    "azure": Provider(
        "", ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_BASE"), ("AZURE_OPENAI_API_KEY",), path="/openai/v1"
    ),
    "cerebras": Provider("https://api.cerebras.ai/v1", (), ("CEREBRAS_API_KEY",)),
    "deepseek": Provider("https://api.deepseek.com/v1", (), ("DEEPSEEK_API_KEY",)),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", (), ("FIREWORKS_API_KEY",)),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_BASE",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "glhf": Provider("https://glhf.chat/api/openai/v1", (), ("GLHF_API_KEY",)),
    "groq": Provider("https://api.groq.com/openai/v1", (), ("GROQ_API_KEY",)),
    "litellm": _LITELLM,
    "litellm-proxy": _LITELLM,
    "llamacpp": Provider(key_variables=("LLAMA_API_KEY",), needs_key=False, in_name=True),
    "lmstudio": Provider("http://localhost:1234/v1", needs_key=False),
    "local": Provider(needs_key=False, in_name=True),
    "minimax": Provider("https://api.minimax.io/v1", (), ("MINIMAX_API_KEY",)),
    "mistral": Provider("https://api.mistral.ai/v1", (), ("MISTRAL_API_KEY",)),
    "ollama": Provider("http://localhost:11434/v1", ("OLLAMA_HOST",), (), needs_key=False, path="/v1"),
    "openrouter": Provider("https://openrouter.ai/api/v1", (), ("OPENROUTER_API_KEY",)),
    "together": Provider("https://api.together.xyz/v1", (), ("TOGETHER_API_KEY",)),
    "vllm": Provider("http://localhost:8000/v1", (), ("VLLM_API_KEY",), needs_key=False),
    "xai": Provider("https://api.x.ai/v1", (), ("XAI_API_KEY",)),
}


class Route(NamedTuple):
    """Where a model's requests go: the `address`, the `model`'s name there, and whose key is sent."""

    address: str
    model: str
    provider: Provider

    @property
    def key(self) -> str:
        """The provider's API key out of the environment; "" without one."""
        return _first_set(self.provider.key_variables)


def route(chat_model: str, api_base: str | None) -> Route:
    """The server that `chat_model` names, and the model's name there.

    At an `api_base` the name is taken as it stands, because servers have names with slashes of their own; only the
    prefix of a server that its user runs is taken off. Raises `ConfigurationError` for an unknown prefix, and for a
    provider whose address is not set.
    """
    provider = named_provider(chat_model, api_base)
    prefix, slash, rest = chat_model.partition("/")
    known = bool(slash) and PROVIDERS.get(prefix) is provider
    if provider.in_name:
        return Route(_with_scheme(rest), rest, provider)
    if api_base:
        return Route(api_base, rest if known and not provider.needs_key else chat_model, provider)
    return Route(_address(chat_model, provider), rest if known else chat_model, provider)


def named_provider(chat_model: str, api_base: str | None) -> Provider:
    """The provider that the name begins with, or OpenAI; raises `ConfigurationError` for an unknown prefix.

    At an `api_base` it is OpenAI's form of a server, unless its user runs it.
    """
    prefix, slash, _ = chat_model.partition("/")
    provider = PROVIDERS.get(prefix) if slash else _OPENAI
    if api_base:
        return provider if provider is not None and not provider.needs_key else _OPENAI
    if provider is None:
        raise ConfigurationError(
            f"the model {chat_model!r} names a provider {prefix!r} that is not known, so nothing is sent; known are "
            f"{', '.join(PROVIDERS)}. For another server give its address as `api_base`, or set OPENAI_BASE_URL and "
            f"name the model 'openai/{chat_model}'"
        )
    return provider


def _address(chat_model: str, provider: Provider) -> str:
    given = _first_set(provider.address_variables)
    if given:
        address = _with_scheme(given).rstrip("/") if provider.path else given
        return address if not provider.path or address.endswith("/v1") else address + provider.path
    if not provider.address:
        raise ConfigurationError(
            f"the model {chat_model!r} names a provider without an address of its own: set "
            f"{' or '.join(provider.address_variables)}, or give the configuration's `api_base`"
        )
    return provider.address


def _with_scheme(address: str) -> str:
    return address if "://" in address else f"http://{address}"


def _first_set(variables: tuple[str, ...]) -> str:
    return next((value for name in variables if (value := os.environ.get(name))), "")
