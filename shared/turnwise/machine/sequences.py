"""Done-sequences: 'the task is done once these events happened in a row'.

A sequence is matched while the messages come in, with one bit per position (the Shift-And method of Baeza-Yates and
Gonnet, 1992): bit i is set if the last i+1 events match the first i+1 elements. So the state is one small integer per
sequence, however long the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import find_tools
from turnwise.messages.toolset import AgentFacts


class EventType(str, Enum):
    """The kind of message that an element of a done-sequence waits for.

    - `TOOL`: the model uses any known tool; `SPECIFIC_TOOL`: exactly one tool, the one that is named.
    - `LLM_RESPONSE`: the model answers without a tool.
    - `AGENT_RESPONSE`: the tool handler answers; `USER_RESPONSE`: the human or a sub-task does.
    - `CONTENT_MATCH`: any message in whose text a pattern is found.
    - `NO_RESPONSE`: no one answered.
    """

    TOOL = "tool"
    SPECIFIC_TOOL = "specific_tool"
    LLM_RESPONSE = "llm_response"
    AGENT_RESPONSE = "agent_response"
    USER_RESPONSE = "user_response"
    CONTENT_MATCH = "content_match"
    NO_RESPONSE = "no_response"


@dataclass(frozen=True, kw_only=True)
class AgentEvent:
    """One element of a done-sequence: a kind of message to wait for.

    `event_type` is the kind, or its value (`"tool"`). For SPECIFIC_TOOL, `tool_class` is the tool's class, or
    `tool_name` its request or the name of its class. `content_pattern` is what to search for with CONTENT_MATCH, a
    regular expression in any case. With `responder`, an entity's or a sub-task's name, the message counts only if that
    one sent it. Raises `ValueError` for an unknown kind, and for one of these two without what it waits for.
    """

    event_type: EventType
    tool_name: str | None = None
    content_pattern: str | None = None
    responder: str | None = None
    tool_class: type[ToolMessage] | None = None

    def __post_init__(self) -> None:
        kinds = [kind.value for kind in EventType]
        if self.event_type not in kinds:
            raise ValueError(f"event_type is {self.event_type!r}; expected one of {', '.join(kinds)}")
        object.__setattr__(self, "event_type", EventType(self.event_type))
        if self.event_type is EventType.SPECIFIC_TOOL and self.tool_class is None and not self.tool_name:
            raise ValueError("an event of the type specific_tool names no tool; give tool_class or tool_name")
        if self.event_type is EventType.CONTENT_MATCH and self.content_pattern is None:
            raise ValueError("an event of the type content_match has no content_pattern; give a regular expression")

    def is_of(self, tool: ToolMessage) -> bool:
        """Return whether the tool is the one that the event names."""
        wanted = self.tool_class.name() if self.tool_class is not None else self.tool_name
        return wanted in (tool.request, type(tool).__name__)


@dataclass(frozen=True, kw_only=True)
class DoneSequence:
    """Events in a row that end a task, for `TaskConfig.done_sequences`; `name` is for people.

    `events` have to be the last ones. The same can be written as text, such as `"T, A"` (a tool, then AGENT's answer):
    `A` AGENT, `U` USER or a sub-task, `T` a tool of the model, `L` a text of the model, `N` nothing, `T[name]` that
    tool, `C[regex]` a text in which it is found. A bad one is a `ValueError` when the task is made.
    """

    events: Sequence[AgentEvent]
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class CompiledSequence:
    """A done-sequence made ready: its events, and a pattern for each CONTENT_MATCH."""

    events: tuple[AgentEvent, ...]
    patterns: tuple[re.Pattern[str] | None, ...] = field(default=())

    def advance(self, matched: int, doc: ChatDocument | None, agent: AgentFacts) -> int:
        """The bits after one more event."""
        result = 0
        # SEQ-1
        open_positions = (matched << 1) | 1
        for index, event in enumerate(self.events):
            if open_positions >> index & 1 and self._fits(index, event, doc, agent):
                result |= 1 << index
        return result

    def complete(self, matched: int) -> bool:
        """Return whether the last events are the whole sequence."""
        return bool(matched >> (len(self.events) - 1) & 1)

    def _fits(self, index: int, event: AgentEvent, doc: ChatDocument | None, agent: AgentFacts) -> bool:
        kind = event.event_type
        if doc is None or (doc.metadata.sender != Entity.LLM and not _says_something(doc)):
            return kind is EventType.NO_RESPONSE
        if event.responder and not _sent_by(doc, event.responder):
            return False
        # SEQ-4
        if kind is EventType.CONTENT_MATCH:
            pattern = self.patterns[index]
            return pattern is not None and pattern.search(doc.content) is not None
        sender = doc.metadata.sender
        # SEQ-2
        if kind is EventType.AGENT_RESPONSE:
            return sender == Entity.AGENT
        if kind is EventType.USER_RESPONSE:
            return sender == Entity.USER
        if sender != Entity.LLM:
            return False
        tools = find_tools(doc, agent).tools
        if kind is EventType.LLM_RESPONSE:
            return not tools
        if kind is EventType.TOOL:
            return bool(tools)
        # SEQ-3
        if kind is EventType.SPECIFIC_TOOL:
            return len(tools) == 1 and event.is_of(tools[0])
        return False


def _says_something(doc: ChatDocument) -> bool:
    return bool(doc.content or doc.tool_messages or doc.oai_tool_calls)


def _sent_by(doc: ChatDocument, name: str) -> bool:
    return name.lower() in (doc.metadata.sender.value.lower(), doc.metadata.sender_name.lower())


_WORDS = {
    "T": EventType.TOOL,
    "TOOL": EventType.TOOL,
    "A": EventType.AGENT_RESPONSE,
    "AGENT": EventType.AGENT_RESPONSE,
    "L": EventType.LLM_RESPONSE,
    "LLM": EventType.LLM_RESPONSE,
    "U": EventType.USER_RESPONSE,
    "USER": EventType.USER_RESPONSE,
    "N": EventType.NO_RESPONSE,
}


def parse_done_sequence(text: str | DoneSequence) -> DoneSequence:
    """Read a sequence such as `"T, A"`, `"T[square], A, L"` or `"L, C[bye|over]"`.

    Elements are separated by commas: T or TOOL (a model's message with a tool), T[name] (exactly that one tool), L or
    LLM (a model's message without), A or AGENT, U or USER, N (no answer), C[regex] (searched in the text, any case;
    the expression may hold no comma). Raises `ValueError` for anything else.
    """
    if isinstance(text, DoneSequence):
        return text
    events = [_parse_event(part.strip(), text) for part in text.split(",") if part.strip()]
    if not events:
        raise ValueError(f"done-sequence {text!r} is empty; write for instance 'T, A'")
    return DoneSequence(events=events)


def _parse_event(part: str, whole: str) -> AgentEvent:
    if match := re.fullmatch(r"([A-Za-z]+)\s*\[(.+)\]", part):
        word, inner = match.group(1).upper(), match.group(2).strip()
        if word in ("T", "TOOL"):
            return AgentEvent(event_type=EventType.SPECIFIC_TOOL, tool_name=inner)
        if word == "C":
            return AgentEvent(event_type=EventType.CONTENT_MATCH, content_pattern=inner)
    elif part.upper() in _WORDS:
        return AgentEvent(event_type=_WORDS[part.upper()])
    # SEQ-6
    raise ValueError(
        f"done-sequence {whole!r}: {part!r} is not an event; expected T, T[tool], L, A, U, N or C[regex], "
        "separated by commas"
    )


def compile_sequence(text: str | DoneSequence) -> CompiledSequence:
    """Parse and make ready; raises `ValueError` for no element, a bad one, or a bad regular expression."""
    events = tuple(parse_done_sequence(text).events)
    if not events:
        raise ValueError("a done-sequence has no events; give at least one, such as AgentEvent(event_type='tool')")
    patterns = []
    for event in events:
        try:
            patterns.append(
                re.compile(event.content_pattern, re.IGNORECASE) if event.content_pattern is not None else None
            )
        except re.error as error:
            raise ValueError(
                f"done-sequence: {event.content_pattern!r} is not a regular expression: {error}"
            ) from error
    return CompiledSequence(events=events, patterns=tuple(patterns))
