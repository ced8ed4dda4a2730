"""The agents of this process, by id, and the documents of their conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from turnwise.messages.linked_document import LinkedDocument

if TYPE_CHECKING:
    from turnwise.agents.agent import Agent
    from turnwise.messages.document import ChatDocument

# Weak: an agent lives as long as someone holds it.
_alive: WeakValueDictionary[str, Agent] = WeakValueDictionary()


def register(agent: Agent) -> None:
    """Let the agent be found by its id."""
    _alive[agent.id] = agent


def agent_of(agent_id: str) -> Agent | None:
    """Return the agent of that id, None if no one holds it."""
    return _alive.get(agent_id)


class _AmongAgents:
    """Finds documents by their ids: back from the last one of each living agent, as far as they answer each other."""

    def find(self, document_id: str) -> ChatDocument | None:
        seen: set[int] = set()
        for agent in list(_alive.values()):
            for document in agent.history.documents(seen):
                if document.metadata.id == document_id:
                    return None if document_id in agent.history.forgotten else document
        return None

    def forget(self, document_id: str) -> None:
        for agent in list(_alive.values()):
            agent.history.forgotten |= {document_id}


LinkedDocument._known = _AmongAgents()
