"""Models of runs that use another one than their application has for its agents."""

from __future__ import annotations

import threading

from turnwise.agents.chat_agent import ChatAgent
from turnwise.models.language_model import LanguageModel
from turnwise.models.renaming import other_model
from turnwise.tasks.tree import TaskTree

# Clients that are kept; a fork may name any model.
_MOST = 64


class OtherModels:
    """Clients by the agent's own and the name of the model, each made once. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Beside each client the one that it was made after, whose id no other object gets while it is here.
        self._made: dict[tuple[int, str], tuple[LanguageModel, LanguageModel]] = {}

    def give(self, agent: ChatAgent, name: str) -> None:
        """Have `agent`, if it has a model, use the one of that name, with all its other settings.

        Raises `ConfigurationError` if there is no client for it.
        """
        own = agent.llm
        if own is None:
            return
        with self._lock:
            place = (id(own), name)
            if place not in self._made:
                if len(self._made) >= _MOST:
                    self._made.pop(next(iter(self._made)))  # the oldest; whoever uses it still has it
                self._made[place] = own, other_model(own, name)
            agent.llm = self._made[place][1]


def without_price(tree: TaskTree, name: str) -> list[str]:
    """Return the agents of a task that have a model, and for which no price of the model `name` is known.

    Raises `ConfigurationError` if there is no client for it.
    """
    models = {key: agent.llm for key, agent in tree.agents.items() if agent.llm is not None}
    return [key for key, model in models.items() if other_model(model, name).most_usage(1, 1).cost is None]
