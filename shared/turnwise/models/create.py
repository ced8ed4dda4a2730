"""Clients of models, made of their settings."""

from __future__ import annotations

from turnwise.errors import ConfigurationError
from turnwise.models.base import LLMConfig
from turnwise.models.language_model import LanguageModel


def create_model(config: LLMConfig | None) -> LanguageModel | None:
    """The client that `config.type` names, or None for an agent without a model.

    A configuration class with a `client()` method of its own brings its own client. Only the client that is needed
    is imported. Raises `ConfigurationError` for a type that has none.
    """
    if config is None:
        return None
    own = getattr(config, "client", None)
    if callable(own):
        model = own()
        if not isinstance(model, LanguageModel):
            raise ConfigurationError(
                f"{type(config).__name__}.client() returned {type(model).__name__}; expected a LanguageModel"
            )
        # A client of its own may keep other settings than those it was made by.
        model.made_by = config
        return model
    if config.type == "mock":
        return _mock(config)
    if config.type in ("openai", "azure"):
        return _openai(config)
    raise ConfigurationError(
        f'no client for LLM type {config.type!r}; use "openai", "azure" or "mock", or give {type(config).__name__} '
        "a client() method that returns a LanguageModel"
    )


def _mock(config: LLMConfig) -> LanguageModel:
    from turnwise.models.mock import MockLM, MockLMConfig

    return MockLM(config if isinstance(config, MockLMConfig) else MockLMConfig(**config.model_dump(exclude_unset=True)))


def _openai(config: LLMConfig) -> LanguageModel:
    from turnwise.models.openai.chat import OpenAIGPT
    from turnwise.models.openai.config import OpenAIGPTConfig

    if not isinstance(config, OpenAIGPTConfig):
        config = OpenAIGPTConfig(**config.model_dump(exclude_unset=True))
    return OpenAIGPT(config)
