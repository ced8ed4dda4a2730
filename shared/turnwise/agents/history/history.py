"""The messages of an agent's conversation with its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex

from turnwise.models.base import LLMMessage, OpenAIToolCall, Role
from turnwise.models.tokens.estimate import message_tokens

_RESULTS = frozenset((Role.TOOL, Role.FUNCTION))


class MessageHistory(list[LLMMessage]):
    """A list of messages that knows from where on it was changed.

    Messages are values, so a message that changes is another object in its place, and the list sees it. That keeps
    three things right, whoever edits it, at no cost for appending:

    - `unchanged`: so many leading messages are still those that the list began with;
    - `fitted`: the messages before this index (but the first) are sent to the model shortened, or not at all;
    - `tokens()`: an estimate of all but the first message, counted once each.

    The first message is the system message, made anew for each call; it belongs to none of the three.
    """

    def __init__(
        self, messages: Iterable[LLMMessage] = (), *, unchanged: int = 0, fitted: int = 0, tokens: int | None = None
    ) -> None:
        super().__init__(messages)
        self.unchanged = min(unchanged, len(self))
        self.fitted = min(fitted, len(self))
        self._counted, self._tokens = (0, 0) if tokens is None else (len(self), tokens)

    def replaced_by(self, messages: Iterable[LLMMessage]) -> MessageHistory:
        """A history of these messages, which remembers of this one what the same leading messages allow.

        One system message in place of another is no change; any other first message is one.
        """
        other = MessageHistory(messages)
        same = 0
        for old, new in zip(self, other, strict=False):
            if old is not new and (same or old.role != Role.SYSTEM or new.role != Role.SYSTEM):
                break
            same += 1
        other.unchanged, other.fitted = min(self.unchanged, same), min(self.fitted, same)
        return other

    def tokens(self) -> int:
        """About how many tokens the messages after the first have."""
        first = max(self._counted, 1)
        if len(self) > first:
            self._tokens += sum(message_tokens(message) for message in self[first:])
            self._counted = len(self)
        return self._tokens

    def begin_with(self, system: LLMMessage) -> None:
        """Make `system` the system message."""
        if not self or self[0].role != Role.SYSTEM:
            self.insert(0, system)
        elif self[0] is not system:
            super().__setitem__(0, system)

    def _changed(self, index: int) -> None:
        """Note that messages at `index` or after it may have changed."""
        if index < self._counted:
            self._counted = self._tokens = 0
        self.unchanged = min(self.unchanged, index)
        self.fitted = min(self.fitted, index)

    def _changed_at(self, key: SupportsIndex | slice) -> None:
        places = range(len(self))
        if isinstance(key, slice):
            inserted_at = max(0, key.indices(len(self))[0])
            self._changed(min(places[key], default=inserted_at))
        else:
            self._changed(places[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice) and self[key] is value:
            return
        self._changed_at(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: SupportsIndex | slice) -> None:
        self._changed_at(key)
        super().__delitem__(key)

    def insert(self, index: SupportsIndex, message: LLMMessage, /) -> None:
        self._changed_at(slice(index, index))
        super().insert(index, message)

    def pop(self, index: SupportsIndex = -1, /) -> LLMMessage:
        message = self[index]
        del self[index]
        return message

    def remove(self, message: LLMMessage, /) -> None:
        del self[self.index(message)]

    def clear(self) -> None:
        self._changed(0)
        super().clear()

    def reverse(self) -> None:
        self._changed(0)
        super().reverse()

    def sort(self, **how: Any) -> None:
        self._changed(0)
        super().sort(**how)

    def __imul__(self, times: SupportsIndex) -> MessageHistory:
        self._changed(0)
        super().__imul__(times)
        return self


def index_of_nth(messages: list[LLMMessage], role: Role | str, n: int) -> int:
    """The index of the n-th message (from 1) of that role, -1 if there are not so many."""
    seen = 0
    for index, message in enumerate(messages):
        if message.role == role:
            seen += 1
            if seen == n:
                return index
    return -1


def index_of_last(messages: list[LLMMessage], role: Role | str) -> int:
    """The index of the last message of that role, -1 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == role:
            return index
    return -1


def first_incoming(start: int, after_system: LLMMessage | None) -> int:
    """Return the index of the first message that came to a task, whose agent's history had `start` messages then.

    A history that begins then has the application's user message first, if there is one: `after_system`, the one after
    the system message, shows no document. The agent cannot tell, as its user message may have been set meanwhile.
    """
    own = after_system is not None and after_system.role == Role.USER and not after_system.chat_document_id
    return max(start, 2 if own else 1)


def between(at: Callable[[int], LLMMessage], first: int, last: int) -> range:
    """Return the indices of the messages between what came to a task, from `first` on, and what was said last.

    At either end all that belongs together counts: the results of several calls, with the files that came with them;
    at the last one also the message that made the calls.
    """
    start, end = first + 1, last
    while start < end and _belongs(at(start), at(start - 1)):
        start += 1
    while start < end and _belongs(at(end), at(end - 1)):
        end -= 1
    return range(start, end)


def _belongs(message: LLMMessage, before: LLMMessage) -> bool:
    """Return whether `message` is a result of what is before it, or came in one document with the result before it."""
    if message.role in _RESULTS:
        return True
    # An empty result, which no document brought, may be between them.
    return (
        message.role == Role.USER
        and before.role in _RESULTS
        and before.chat_document_id in ("", message.chat_document_id)
    )


def calls_without_result(messages: list[LLMMessage]) -> list[OpenAIToolCall]:
    """The API calls of the last message, or of the one that the results at the end answer, that have no result."""
    answered = set()
    for message in reversed(messages):
        if message.role == Role.TOOL:
            answered.add(message.tool_call_id)
        else:
            return [call for call in message.tool_calls or () if call.id not in answered]
    return []
