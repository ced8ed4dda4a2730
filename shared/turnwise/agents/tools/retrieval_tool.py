"""A tool with which a model asks its agent's vector store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from turnwise.errors import ConfigurationError
from turnwise.messages.signals import escape_signals
from turnwise.messages.tool_message import ToolEffect, ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent
    from turnwise.integrations.retrieval.document import ScoredDocument, Where
    from turnwise.integrations.retrieval.store import VectorStore


class RetrievalTool(ToolMessage):
    """Finds the `k` passages of the agent's vector store (`AgentConfig.vecdb`) that are nearest to `query`.

    The answer is JSON: `query`, and `passages` with `number`, `source`, `score` and `text`, best first. It is JSON so
    that the passages stay text: no words in them end a task, send a message or address anyone by the
    `addressing_prefix` of a task, and no JSON in them runs a tool.

    A subclass may narrow what is found: `_min_score` leaves out what is farther away than that, and `where(agent)`
    gives a filter, such as the customer whose documents these are. Raises `ConfigurationError` for an agent without a
    vector store.
    """

    request: str = "retrieve"
    purpose: str = "To find the passages of the documentation that say most about the <query>, at most <k> of them."
    query: str = Field(description="what to look for, in a sentence or a few words")
    k: int = Field(default=4, ge=1, le=20, description="how many passages to get")

    _min_score: float | None = None
    _effect: ToolEffect = "read_only"
    _effect_of_own_handlers: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> list[ToolMessage | tuple[str, ToolMessage]]:
        """A query in words of its own."""
        return [("I have to know how long a refund takes", cls(query="How long does a refund take?"))]

    def where(self, agent: ChatAgent) -> Where | None:
        """The filter for this search; None searches everything. Override it."""
        return None

    def handle(self, agent: ChatAgent) -> str:
        """The passages, as the model is told of them."""
        wanted, least = self.where(agent), self.private_default("_min_score")
        return self._told(self._store(agent).search(self.query, self.k, where=wanted, min_score=least))

    async def handle_async(self, agent: ChatAgent) -> str:
        """The same as `handle`, without blocking the event loop."""
        wanted, least = self.where(agent), self.private_default("_min_score")
        return self._told(await self._store(agent).search_async(self.query, self.k, where=wanted, min_score=least))

    def _store(self, agent: ChatAgent) -> VectorStore:
        store = agent.vecdb
        if store is None:
            raise ConfigurationError(
                f"tool {self.request!r} of agent {agent.config.name!r} has no vector store to ask; set "
                "ChatAgentConfig(vecdb=...), for instance to a SqliteVectorConfig"
            )
        return store

    def _told(self, found: list[ScoredDocument]) -> str:
        lines = ",\n".join(
            f'{{"number": {number}, "source": {_quoted(passage.source)}, "score": {round(passage.score, 3)}, '
            f'"text": {_quoted(passage.text)}}}'
            for number, passage in enumerate(found, start=1)
        )
        return f'{{"query": {_quoted(self.query)}, "passages": [\n{lines}\n]}}' if lines else self._nothing()

    def _nothing(self) -> str:
        return f'{{"query": {_quoted(self.query)}, "passages": [], "note": "nothing was found; try other words"}}'


def _quoted(text: str) -> str:
    """The text as JSON in which no signal of a task stands."""
    return f'"{escape_signals(json.dumps(text, ensure_ascii=False)[1:-1])}"'
