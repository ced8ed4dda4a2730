"""The names of what is to be set when calls of a model fail, by the provider that its name says."""

from __future__ import annotations

from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.providers import PROVIDERS

_FAKE = ", or start `turnwise fake-llm SCRIPT` and set OPENAI_BASE_URL to the address it prints"
# Someone who has a line with the key there is told that it is not set.
_NOT_IN_FILE = (
    "; Turnwise reads a file `.env` for its own settings only, so a key's variable belongs in the environment"
)


def address_hint(config: OpenAIGPTConfig) -> str:
    """Return what says where the model is, as in `check ...`."""
    provider = config.route.provider
    if provider.in_name and not config.api_base:
        return "the address in the model's name, or api_base"
    return _one_of(*provider.address_variables, "api_base")


def key_hint(config: OpenAIGPTConfig) -> str:
    """Return what says which API key is sent, as in `check ...`."""
    return _one_of(*config.route.provider.key_variables, "the configuration's api_key")


def missing_key_hint(config: OpenAIGPTConfig) -> str:
    """Return what to do where a key is wanted and none is set."""
    provider = config.route.provider
    fake = _FAKE if provider is PROVIDERS["openai"] and not config.api_base else ""
    return f"set {key_hint(config)}{fake}{_NOT_IN_FILE if provider.key_variables else ''}"


def _one_of(*names: str) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
