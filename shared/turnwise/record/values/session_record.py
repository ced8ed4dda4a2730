"""A session as it is told of: its tasks, and what its runs used."""

from __future__ import annotations

from dataclasses import dataclass

from turnwise.record.values.records import AgentRecord, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionTask:
    """A task of a session, and what its agents remember."""

    task: str
    runs: int
    agents: tuple[AgentRecord, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionRecord:
    """A session: how many runs it had and what they used, how many have not ended, what its tasks remember."""

    id: str
    created_at: float
    used_at: float
    runs: int
    unfinished: int
    usage: Usage
    unpriced_calls: int
    tasks: tuple[SessionTask, ...]
