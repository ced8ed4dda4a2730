"""Tool results of which little is kept once the model has answered them (`_max_retained_tokens`).

The mark is set when a result joins the history, and says how much may be kept; the stored message stays whole. What the
model is sent follows from the mark and the message's place alone: before the model's last words it is shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.toolset import ToolSets
from turnwise.models.base import LLMMessage, OpenAIToolCall, Role
from turnwise.models.tokens.estimate import estimated_tokens, shortened


@lru_cache(maxsize=4096)
def retains(sets: ToolSets) -> bool:
    """Return whether any of the tools limits how much of its results is kept."""
    return any(_limit(tool) is not None for tool in sets.known.values())


def of_results(results: Sequence[tuple[ToolMessage, str]]) -> int | None:
    """Return what may be kept of the results together, which were written into one text; None for all."""
    limits = [(_limit(type(tool)), text) for tool, text in results]
    if all(limit is None for limit, _ in limits):
        return None
    return sum(estimated_tokens(text) if limit is None else limit for limit, text in limits)


def marked(
    added: list[LLMMessage], document: ChatDocument | str, sets: ToolSets, calls: Sequence[OpenAIToolCall]
) -> list[LLMMessage]:
    """The messages that `document` adds to the history, with the marks of results.

    Results of API calls are told by the names of the open `calls`; one written as text was marked by its handler.
    """
    names = {call.id: call.function.name for call in calls if call.function is not None}
    own = None
    if isinstance(document, ChatDocument) and document.metadata.sender == Entity.AGENT:
        own = document.metadata.max_retained_tokens

    def mark(message: LLMMessage) -> LLMMessage:
        most = own
        if message.role in (Role.TOOL, Role.FUNCTION):
            tool = sets.known.get(message.name or names.get(message.tool_call_id, ""))
            most = _limit(tool) if tool is not None else None
        return message if most is None else message.model_copy(update={"max_retained_tokens": most})

    return [mark(message) for message in added]


def with_retention(messages: list[LLMMessage]) -> list[LLMMessage]:
    """The messages as they are sent: what may be kept of results that the model has answered."""
    last = len(messages) - 1
    while last >= 0 and messages[last].role != Role.ASSISTANT:
        last -= 1
    return [*map(_retained, messages[: last + 1]), *messages[last + 1 :]]


def _retained(message: LLMMessage) -> LLMMessage:
    most = message.max_retained_tokens
    if most is None:
        return message
    return message.model_copy(update={"content": shortened(message.content, most)})


def _limit(tool: type[ToolMessage]) -> int | None:
    limit: int | None = tool.private_default("_max_retained_tokens")
    return limit
