"""The names of what is to be set when calls of a model fail, by the provider that its name says."""

from __future__ import annotations

from turnwise.models.openai.config import OpenAIGPTConfig


def address_hint(config: OpenAIGPTConfig) -> str:
    """Return what says where the model is, as in `check ...`."""
    provider = config.route.provider
    if provider.in_name and not config.api_base:
        return "the address in the model's name, or api_base"
    return _one_of(*provider.address_variables, "api_base")


def key_hint(config: OpenAIGPTConfig) -> str:
    """Return what says which API key is sent, as in `check ...`."""
    return _one_of(*config.route.provider.key_variables, "the configuration's api_key")


def _one_of(*names: str) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
