"""Models of runs that use another one than their application has for its agents."""

from __future__ import annotations

import threading

from turnwise.agents.chat_agent import ChatAgent
from turnwise.llm.base import LanguageModel
from turnwise.llm.create import create_model


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
                self._made[place] = create_model(config.model_copy(update={"chat_model": name}))
            agent.llm = self._made[place]
