"""The speakers in a task, and the statuses of its end."""

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
        # Two members, which this is asked of all the time, differ; only what others have written may differ in case.
        return type(other) is not Entity and isinstance(other, str) and str.lower(self) == str.lower(other)

    def __hash__(self) -> int:
        return hash(str.lower(self))

    def __str__(self) -> str:
        return self.value

    @classmethod
    def named(cls, name: str) -> Entity | None:
        """The entity called `name`, compared without case, or None."""
        return _BY_NAME.get(name.lower())


_BY_NAME = {entity.value.lower(): entity for entity in Entity}


class StatusCode(str, Enum):
    """The status of a task's end; a message carries it when it is a task's result.

    - `DONE`: an answer said so, or a rule of the task; `OK`: there was nothing more to answer, or it was for the
      caller.
    - `USER_QUIT`: the human ended it; `KILL`: `Task.kill`, or a cancelled run.
    - `STALLED`: no one answered for `max_stalled_steps`; `INF_LOOP`: it repeated itself.
    - `FIXED_TURNS`: the `turns` it was given are taken; `MAX_TURNS`: those that `settings` allow any task.
    - `MAX_COST`, `MAX_TOKENS`, `TIMEOUT`: a limit of the run was reached.
    - `ERROR`: something raised, in a served run; in a script it propagates.
    - `NO_ANSWER`: for programs; no rule ends a task with it.

    `STALLED`, `MAX_TURNS` and `INF_LOOP` have no result.
    """

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
