"""Names of `langroid.agent.special`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.langroid.agent.special import arangodb, lance_rag, neo4j, sql

__all__ = [
    "arangodb",
    "lance_rag",
    "neo4j",
    "sql",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __getattr__, __dir__ = lend(__name__)
