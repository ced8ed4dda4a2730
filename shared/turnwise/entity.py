"""Who speaks in a task, and how a task ended."""

from __future__ import annotations

from enum import Enum


class Entity(str, Enum):
    """A party of a task: its tool handler, its model, its human, or the system.

    Members compare and hash like their value in any case, so `"llm" == Entity.LLM` and a dict keyed by entities
    finds `"User"`.
    """

    AGENT = "Agent"
    LLM = "LLM"
    USER = "User"
    SYSTEM = "System"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, str) and str.lower(self.value) == str.lower(other)

    def __hash__(self) -> int:
        return hash(self.value.lower())

    def __str__(self) -> str:
        return self.value

    @classmethod
    def named(cls, name: str) -> Entity | None:
        """The entity called `name`, compared without case, or None."""
        return _BY_NAME.get(name.lower())


_BY_NAME = {entity.value.lower(): entity for entity in Entity}


class StatusCode(str, Enum):
    """How a task ended; a message carries it when it is a task's result."""

    OK = "OK"
    ERROR = "ERROR"
    DONE = "DONE"
    STALLED = "STALLED"
    INF_LOOP = "INF_LOOP"
    KILL = "KILL"
    FIXED_TURNS = "FIXED_TURNS"
    MAX_TURNS = "MAX_TURNS"
    MAX_COST = "MAX_COST"
    MAX_TOKENS = "MAX_TOKENS"
    TIMEOUT = "TIMEOUT"
    NO_ANSWER = "NO_ANSWER"
    USER_QUIT = "USER_QUIT"
