"""Providers that a model's name may begin with, such as `groq/`, and the address that such a name stands for.

A prompt goes to the provider that its model's name says, and nowhere else. So a name with an unknown prefix is refused:
it may name a server on this machine, and OpenAI would get what was not meant for it.
"""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from turnwise.errors import ConfigurationError
from turnwise.models.model_names import ModelName

OPENAI_URL = "https://api.openai.com/v1"


class ProviderPreset(NamedTuple):
    """A provider: its documented OpenAI-compatible address, and the variables that say otherwise.

    - `address`: "" for one that has no address of its own.
    - `address_variables`: environment variables with an address, the first that is set wins.
    - `key_variables`: those with its API key; `needs_key=False` for servers that people run themselves.
    - `path`: added to an address out of the environment that does not end with it.
    - `port`: that of an address out of the environment with neither a scheme nor a port; None leaves such as they are.
    - `in_name`: the address is what follows the prefix.
    """

    address: str = ""
    address_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    path: str = ""
    port: int | None = None
    in_name: bool = False


# Addresses as the providers' own pages on OpenAI compatibility give them.
_OPENAI = ProviderPreset(OPENAI_URL, ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",))
_LITELLM = ProviderPreset("", ("LITELLM_API_BASE",), ("LITELLM_API_KEY",), needs_key=False)
PROVIDERS = {
    "openai": _OPENAI,
    "anthropic": ProviderPreset("https://api.anthropic.com/v1", (), ("ANTHROPIC_API_KEY",)),
    "azure": ProviderPreset(
        "", ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_BASE"), ("AZURE_OPENAI_API_KEY",), path="/openai/v1"
    ),
    "cerebras": ProviderPreset("https://api.cerebras.ai/v1", (), ("CEREBRAS_API_KEY",)),
    "deepseek": ProviderPreset("https://api.deepseek.com/v1", (), ("DEEPSEEK_API_KEY",)),
    "fireworks": ProviderPreset("https://api.fireworks.ai/inference/v1", (), ("FIREWORKS_API_KEY",)),
    "gemini": ProviderPreset(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_BASE",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "glhf": ProviderPreset("https://glhf.chat/api/openai/v1", (), ("GLHF_API_KEY",)),
    "groq": ProviderPreset("https://api.groq.com/openai/v1", (), ("GROQ_API_KEY",)),
    "litellm": _LITELLM,
    "litellm-proxy": _LITELLM,
    "llamacpp": ProviderPreset(key_variables=("LLAMA_API_KEY",), needs_key=False, in_name=True),
    "lmstudio": ProviderPreset("http://localhost:1234/v1", needs_key=False),
    "local": ProviderPreset(needs_key=False, in_name=True),
    "minimax": ProviderPreset("https://api.minimax.io/v1", (), ("MINIMAX_API_KEY",)),
    "mistral": ProviderPreset("https://api.mistral.ai/v1", (), ("MISTRAL_API_KEY",)),
    "ollama": ProviderPreset(
        "http://localhost:11434/v1", ("OLLAMA_HOST",), (), needs_key=False, path="/v1", port=11434
    ),
    "openrouter": ProviderPreset("https://openrouter.ai/api/v1", (), ("OPENROUTER_API_KEY",)),
    "together": ProviderPreset("https://api.together.xyz/v1", (), ("TOGETHER_API_KEY",)),
    "vllm": ProviderPreset("http://localhost:8000/v1", (), ("VLLM_API_KEY",), needs_key=False),
    "xai": ProviderPreset("https://api.x.ai/v1", (), ("XAI_API_KEY",)),
}


class ModelRoute(NamedTuple):
    """The destination of a model's requests: the `address`, the `model`'s name there, and whose key is sent."""

    address: str
    model: str
    provider: ProviderPreset

    @property
    def key(self) -> str:
        """The provider's API key out of the environment; "" without one."""
        return _first_set(self.provider.key_variables)


def route(chat_model: str, api_base: str | None) -> ModelRoute:
    """The server that `chat_model` names, and the model's name there.

    At an `api_base` the name is taken as it stands, because servers have names with slashes of their own; only the
    prefix of the provider whose server that is gets taken off. Raises `ConfigurationError` for an unknown prefix, and
    for a provider whose address is not set.
    """
    provider, name = _parts(chat_model, api_base)
    if api_base:
        return ModelRoute(api_base, name, provider)
    return ModelRoute(_with_scheme(name) if provider.in_name else _address(chat_model, provider), name, provider)


def named_provider(chat_model: str, api_base: str | None) -> ProviderPreset:
    """The provider that the name begins with, or OpenAI; raises `ConfigurationError` for an unknown prefix.

    At an `api_base` it is OpenAI's form of a server, unless it is the provider's own server.
    """
    return _parts(chat_model, api_base)[0]


def refuse_address(chat_model: str) -> None:
    """Raise `ConfigurationError` for a name that is an address: who may choose a model may not choose a server."""
    prefix, slash, _ = chat_model.partition("/")
    if slash and prefix in PROVIDERS and PROVIDERS[prefix].in_name:
        raise ConfigurationError(
            f"the model {chat_model!r} names a server by its address, which only the application's configuration may; "
            "give the name of a model, or of one at a known provider"
        )


def _parts(chat_model: str, api_base: str | None) -> tuple[ProviderPreset, str]:
    """The provider and what it is told; raises `ConfigurationError` for a name that stands for no server."""
    if isinstance(chat_model, ModelName):
        # Here, because a default of a subclass, an assignment and `model_copy` pass no validator. At an address of the
        # program's own, the server decides what models are called.
        chat_model = chat_model.value if api_base else chat_model.at_provider
    prefix, slash, rest = chat_model.partition("/")
    if not slash:
        return _OPENAI, chat_model
    provider = PROVIDERS.get(prefix)
    if api_base:
        return (provider, rest) if provider is not None and _own(provider, api_base) else (_OPENAI, chat_model)
    chosen = _first_set(_OPENAI.address_variables)
    if provider is None and chosen and _host(chosen) != _host(OPENAI_URL):
        # Whoever set the address has chosen the server, and servers name models as `organization/model`.
        return _OPENAI, chat_model
    if provider is None:
        raise ConfigurationError(
            f"the model {chat_model!r} names a provider {prefix!r} that is not known, so nothing is sent; known are "
            f"{', '.join(PROVIDERS)}. For another server give its address as `api_base`, or set OPENAI_BASE_URL"
        )
    if provider.in_name and not rest:
        raise ConfigurationError(
            f"the model {chat_model!r} lacks the address of its server: name it '{prefix}/localhost:8000/v1', or give "
            "the configuration's `api_base`"
        )
    return provider, rest


def _own(provider: ProviderPreset, api_base: str) -> bool:
    """Return whether the address may belong to the provider's own server."""
    return not provider.needs_key or not provider.address or _host(api_base) == _host(provider.address)


def _host(address: str) -> str | None:
    return urlsplit(_with_scheme(address)).hostname


def _address(chat_model: str, provider: ProviderPreset) -> str:
    given = _first_set(provider.address_variables)
    if given:
        if provider.port is not None:
            given = _reachable(given, provider.port)
        address = _with_scheme(given).rstrip("/") if provider.path else given
        return address if not provider.path or address.endswith("/v1") else address + provider.path
    if not provider.address:
        raise ConfigurationError(
            f"the model {chat_model!r} names a provider without an address of its own: set "
            f"{' or '.join(provider.address_variables)}, or give the configuration's `api_base`"
        )
    return provider.address


def _reachable(given: str, port: int) -> str:
    """The address for a client of a server that listens at `given`: on this machine, if that is every interface."""
    try:
        parts = urlsplit(_with_scheme(given))
        number = parts.port
    except ValueError as error:
        raise ConfigurationError(f"{given!r} is not the address of a server ({error}); expected HOST:PORT") from error
    host = parts.hostname or ""
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    if number is None and "://" not in given:
        number = port
    user, at, _ = parts.netloc.rpartition("@")
    place = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=f"{user}{at}{place}" + (f":{number}" if number is not None else "")).geturl()


def _with_scheme(address: str) -> str:
    return address if "://" in address else f"http://{address}"


def _first_set(variables: tuple[str, ...]) -> str:
    return next((value for name in variables if (value := os.environ.get(name))), "")
