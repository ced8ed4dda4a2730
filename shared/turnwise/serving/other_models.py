"""Models of runs that use another one than their application has for its agents."""

from __future__ import annotations

import threading
from typing import Any

from pydantic import SecretStr

from turnwise.agents.chat_agent import ChatAgent
from turnwise.llm.base import LanguageModel, LLMConfig
from turnwise.llm.create import create_model
from turnwise.llm.openai_config import OpenAIGPTConfig
from turnwise.llm.providers import named_provider, refuse_address
from turnwise.tasks.tree import TaskTree

# Clients that are kept; a fork may name any model.
_MOST = 64


class OtherModels:
    """Clients by configuration and name of the model, each made once. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[int, str], LanguageModel | None] = {}

    def give(self, agent: ChatAgent, name: str) -> None:
        """Have `agent`, if it has a model, use the one of that name, with all its other settings.

        Raises `ConfigurationError` if there is no client for it.
        """
        config = agent.config.llm
        if config is None or agent.llm is None:
            return
        with self._lock:
            # An application's templates, and so their configurations, live as long as the process.
            place = (id(config), name)
            if place not in self._made:
                if len(self._made) >= _MOST:
                    self._made.pop(next(iter(self._made)))  # the oldest; whoever uses it still has it
                self._made[place] = create_model(renamed(config, name))
            agent.llm = self._made[place]


def renamed(config: LLMConfig, name: str) -> LLMConfig:
    """The configuration with another model, as a caller named it.

    Prices that the configuration names are of its own model, so they do not go along. What it has for its own server,
    such as a key, goes to no other. Raises `ConfigurationError` for a name that is an address.
    """
    if name == config.chat_model:
        return config
    refuse_address(name)
    other: dict[str, Any] = {
        field: None for field in ("input_price", "output_price") if field in type(config).model_fields
    }
    if isinstance(config, OpenAIGPTConfig):
        other |= _server_fields(config, name)
    return config.model_copy(update={"chat_model": name, **other})


def _server_fields(config: OpenAIGPTConfig, name: str) -> dict[str, Any]:
    """The fields about a server that are others for the model `name`."""
    if config.api_base:
        # The server stays the application's, and so does its key, which is no other provider's for a prefix in `name`.
        return {"api_key": SecretStr(config.key)} if config.key else {}
    # By provider, not by address, which may be set only where models are called.
    if named_provider(name, None) is named_provider(config.chat_model, None):
        return {}
    return {"api_key": None, "headers": {}, "organization": None, "provider": None}


def without_price(tree: TaskTree, name: str) -> list[str]:
    """The agents of a task that have a model, and for which nobody knows what a call of the model `name` costs."""
    found = []
    for key, agent in tree.agents.items():
        config = agent.config.llm
        model = create_model(renamed(config, name)) if config is not None and agent.llm is not None else None
        if model is not None and model.most_usage(1, 1).cost is None:
            found.append(key)
    return found
