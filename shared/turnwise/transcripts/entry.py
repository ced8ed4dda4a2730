"""One entry of a run's log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.transcripts.message_text import Said

# given: the message that a task begins with. taken, passed: it became the pending message, or handed that on.
# null: a stand-in for a missing answer. rejected: an answer that was not valid.
MessageKind = Literal["given", "taken", "passed", "null", "rejected"]
# started, finished: a call of a task. continued: a task that a retry of the run has opened again. none: a turn in which
# no one answered. ended: the run.
Kind = Literal["started", "continued", "none", "finished", "ended"] | MessageKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTitle:
    """The subject of a log: the root task, and of a served run its id, and its status if it is active."""

    task: str
    run: str = ""
    state: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Something that happened in a run; `path` is the task's, names from the root joined by "/".

    Messages have `said`, the `number` of the message in this log, that of the message which it answers (`parent`, None
    if it is not in the log), and what the model's call used. `status` is how a task or the run ended, `error` (type,
    text) what ended it.
    """

    kind: Kind
    at: datetime
    path: str
    turn: int = 0
    responder: str = ""
    said: Said | None = None
    number: int = 0
    parent: int | None = None
    usage: LLMTokenUsage | None = None
    status: str = ""
    error: tuple[str, str] | None = None

    @property
    def depth(self) -> int:
        """Return how many tasks are around this one."""
        return self.path.count("/")

    @property
    def mark(self) -> bool:
        """Return the mark of a message that was taken, or an empty one."""
        return self.kind in ("taken", "passed", "null")
