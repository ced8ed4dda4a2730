"""The conversation that a request gives: the message to be answered, and what was said before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnwise.errors import InvalidRequestError
from turnwise.messages.given_history import GivenMessage

# Messages before the last one at which a run may have begun that asks its user something now.
_MOST_BEGINNINGS = 50


def joined(parts: Iterable[str]) -> str:
    """The text of a message that came in parts."""
    return "\n".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenConversation:
    """A user's message, and the messages before it, oldest first."""

    message: str
    history: tuple[GivenMessage, ...]

    def name(self, model: str, user: str | None) -> str:
        """A name of the conversation up to its last message: the same for the same messages to the same model."""
        return _name(model, user, [*self.history, GivenMessage("user", self.message)])

    def behind_beginnings(self, model: str, user: str | None) -> dict[str, tuple[GivenMessage, ...]]:
        """The names that the conversation had when earlier messages of the user were its last, latest first.

        Each with the messages behind it, up to the assistant's message that the last one answers. Empty if the last
        one answers none.
        """
        if not self.history or self.history[-1].role != "assistant":
            return {}
        ends = [
            end
            for end in range(len(self.history) - 1, 0, -1)
            if self.history[end - 1].role == "user" and self.history[end].role == "assistant"
        ]
        return {_name(model, user, self.history[:end]): self.history[end:] for end in ends[:_MOST_BEGINNINGS]}


def conversation_of(messages: Sequence[GivenMessage], field: str) -> GivenConversation:
    """The conversation of a request whose `field` has the messages; raises `InvalidRequestError`."""
    if not messages or messages[-1].role != "user":
        raise InvalidRequestError(f"{field}: the last message has to be the user's; it is what the task answers")
    if not messages[-1].content.strip():
        raise InvalidRequestError(f"{field}: the last message is empty; say what the task is to work on")
    # An answer may have been empty; no model is sent that.
    history = tuple(message for message in messages[:-1] if message.content.strip())
    return GivenConversation(message=messages[-1].content, history=history)


def _name(model: str, user: str | None, messages: Sequence[GivenMessage]) -> str:
    said = [[message.role, message.content.strip()] for message in messages]
    text = json.dumps([model, user or "", said], separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
