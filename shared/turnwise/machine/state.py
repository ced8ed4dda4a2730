"""Where a task is in its conversation: small, immutable, and as JSON when it has to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity

# Responders of a task: these three, or the name of a sub-task.
AGENT = Entity.AGENT.value
LLM = Entity.LLM.value
USER = Entity.USER.value


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskState:
    """The state of one task between two moves; bounded, whatever the length of the conversation.

    `stepwise`: the task pauses before each step, and its end is for others to decide. Between steps `candidates` is
    empty. Within a step it lists who is tried, `cursor` says who is being asked, and
    `no_answer` keeps the last answer that contained NO_ANSWER, with its responder; `passed`: somebody has passed.
    """

    caller: str | None = None
    stepwise: bool = False
    turns: int = -1
    turn: int = 0
    pending: ChatDocument | None = None
    pending_sender: str = USER
    last_asked: str = ""
    stalled: int = 0
    # the step
    candidates: tuple[str, ...] = ()
    cursor: int = 0
    no_answer: ChatDocument | None = None
    no_answer_from: str = ""
    answer_done: bool = False
    passed: bool = False
    counting: bool = False
    refused: str = ""
    # loops
    taken: int = 0
    hashes: tuple[str, ...] = ()
    last_no_answer_turn: int = -10
    alternations: int = 0
    # done-sequences: bits per sequence, and the last message they have seen
    sequences: tuple[int, ...] = ()
    sequenced: str = ""
    # length of the agent's history when the task began, for `erase_substeps`
    history_start: int = 0

    @property
    def awaiting(self) -> str:
        """Who is being asked, "" for nobody."""
        return self.candidates[self.cursor] if self.cursor < len(self.candidates) else ""


_DOCUMENTS = ("pending", "no_answer")
_DEFAULTS = {f.name: f.default for f in fields(TaskState)}


def dump_state(state: TaskState) -> tuple[dict[str, Any], list[ChatDocument]]:
    """The state as JSON-able data that names documents by id, and those documents; defaults are left out."""
    data: dict[str, Any] = {}
    documents: list[ChatDocument] = []
    for name, default in _DEFAULTS.items():
        value = getattr(state, name)
        if value is None or value == default:
            continue
        if name in _DOCUMENTS:
            documents.append(value)
            data[name] = value.metadata.id
        else:
            data[name] = list(value) if isinstance(value, tuple) else value
    return data, documents


def document_ids(data: Mapping[str, Any]) -> list[str]:
    """The ids of the documents that a dumped state names."""
    return [data[name] for name in _DOCUMENTS if name in data]


def load_state(data: Mapping[str, Any], documents: Mapping[str, ChatDocument]) -> TaskState:
    """The state written by `dump_state`; raises `KeyError` for a document that is not given."""
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name in _DOCUMENTS:
            values[name] = documents[value]
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return TaskState(**values)
