"""The state of a task's conversation: small, immutable, and as JSON when it has to be kept.

During an upgrade processes of two versions of Turnwise move the same runs, so an older one may read what a newer one
wrote. A field that it does not know it carries along, and writes back as it was. If a new field may not be ignored, or
an old one means something else, `STATE_VERSION` is raised: older readers then leave the state to newer ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from turnwise.errors import NewerStateError
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity

# Responders of a task: these three, or the name of a sub-task.
AGENT = Entity.AGENT.value
LLM = Entity.LLM.value
USER = Entity.USER.value

# The version of the states that this code writes, and the highest that it can continue with.
STATE_VERSION = 1


class JudgedState(Protocol):
    """The part of a state that decides whether a task is over; a state has it, and the working copy of a move."""

    @property
    def caller(self) -> str | None: ...

    @property
    def pending(self) -> ChatDocument | None: ...

    @property
    def stalled(self) -> int: ...

    @property
    def answer_done(self) -> bool: ...

    @property
    def sequences(self) -> tuple[int, ...]: ...

    @property
    def sequenced(self) -> str: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskState:
    """The state of one task between two moves; bounded, whatever the length of the conversation.

    `stepwise`: the task pauses before each step, and its end is for others to decide. Between steps `candidates` is
    empty. Within a step it lists who is tried, `cursor` says who is being asked, and
    `no_answer` keeps the last answer that contained NO_ANSWER, with its responder; `passed`: someone has passed.
    `unknown` holds the fields of a newer version's state, as JSON; nothing reads them.
    """

    version: int = STATE_VERSION
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
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def awaiting(self) -> str:
        """Return who is being asked, "" for no one."""
        return self.candidates[self.cursor] if self.cursor < len(self.candidates) else ""


_DOCUMENTS = ("pending", "no_answer")
# A state without a version is of the first: what wrote those did not know that there would be others.
_DEFAULTS = {f.name: f.default for f in fields(TaskState) if f.name != "unknown"} | {"version": 1}


def dump_state(state: TaskState) -> tuple[dict[str, Any], list[ChatDocument]]:
    """Return the state as JSON-able data that names documents by id, and those documents; defaults are left out."""
    data: dict[str, Any] = dict(state.unknown)
    documents: list[ChatDocument] = []
    own = vars(state)
    for name, default in _DEFAULTS.items():
        value = own[name]
        # Most are the very default, and a comparison takes longer.
        if value is default or value is None or value == default:
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
    """Return the state written by `dump_state`, by this version or another.

    Raises `KeyError` for a document that is not given, `NewerStateError` for a version above `STATE_VERSION`.
    """
    version = data.get("version", 1)
    if version > STATE_VERSION:
        raise NewerStateError(version, STATE_VERSION)
    values: dict[str, Any] = dict(_DEFAULTS)
    unknown: dict[str, Any] = {}
    for name, value in data.items():
        if name not in _DEFAULTS:
            unknown[name] = value
        elif name in _DOCUMENTS:
            values[name] = documents[value]
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    state = object.__new__(TaskState)
    # Its constructor would set field by field, and a state is read for every answer.
    vars(state).update(values, version=STATE_VERSION, unknown=unknown)
    return state
