"""The conversation that a run is given with its first message: what was said before it, elsewhere.

It is kept with the message, in the same JSON: whoever copies the message of a run copies its past, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_HISTORY = "history"
# Names a conversation as it stood when the run was made, so that who continues it finds the run.
_CONVERSATION = "conversation"


class GivenMessage(NamedTuple):
    """A message of the given conversation; `role` is user or assistant."""

    role: str
    content: str


def with_history(
    body: Mapping[str, Any], history: Iterable[GivenMessage], conversation: str | None = None
) -> dict[str, Any]:
    """The first message of a run, as `encode_document` writes it, with what was said before it."""
    made = dict(body)
    told = [message._asdict() for message in history]
    if told:
        made[_HISTORY] = told
    if conversation is not None:
        made[_CONVERSATION] = conversation
    return made


def history_of(body: Mapping[str, Any]) -> tuple[GivenMessage, ...]:
    """Return what was said before the first message of a run; empty if the run was given nothing."""
    return tuple(GivenMessage(**message) for message in body.get(_HISTORY, ()))


def conversation_name(body: Mapping[str, Any]) -> str:
    """The name of the conversation that the first message of a run was given with; empty if it has none."""
    return str(body.get(_CONVERSATION, ""))


def without_history(body: Mapping[str, Any]) -> dict[str, Any]:
    """The first message of a run by itself."""
    return {name: value for name, value in body.items() if name not in (_HISTORY, _CONVERSATION)}
