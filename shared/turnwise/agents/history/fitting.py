"""The choice of messages that fit a model's context: the rule, on values alone.

What is left for the answer is the context, less the prompt and a margin. Where that is less than a whole answer
(`most`), the answer is asked to be shorter; where it is less than `least`, messages are shortened, the oldest first, or
whole turns are left out, again the oldest first. Never touched are the system message and the last user message.

How far that goes is one index, the *mark*, and it only moves on. So what was shortened once stays so, and the prompts
of the next turns begin with the same tokens, which providers remember at a lower price. For the same reason it moves
by more than is needed at once: until a whole answer fits, if messages that the model has answered suffice for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnwise.agents.history.shortening import short
from turnwise.models.base import LLMMessage, Role

# Tokens kept free, because counts are estimates.
MARGIN = 300
# Who speaks from outside the agent; a message of theirs begins a turn.
_OUTSIDE = (Role.USER, Role.SYSTEM)

Cost = Callable[[LLMMessage], int]


@dataclass(frozen=True, kw_only=True)
class ContextWindow:
    """The tokens that a model has for prompt and answer; `most` and `least` are wanted for the answer."""

    context: int
    most: int
    least: int

    def room(self, prompt: int) -> int:
        """Return what a prompt of so many tokens leaves for the answer."""
        return self.context - MARGIN - prompt


class Shortening(Protocol):
    """A way to shorten a conversation."""

    def steps(self, mark: int) -> Iterator[tuple[int, int]]:
        """Marks from `mark` on, each with the tokens of the conversation as it is sent then, fewer and fewer."""

    def sent(self, mark: int) -> list[LLMMessage]:
        """The messages as they are sent with that mark."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A mark, the tokens of what is sent with it, and whether there is room for the least answer."""

    mark: int
    tokens: int
    fits: bool


def fit(messages: Sequence[LLMMessage], window: ContextWindow, way: Shortening, mark: int, fixed: int) -> Fit:
    """Return how far the messages must be shortened, where `fixed` tokens of the prompt are none of theirs."""
    answered = index_of_last(messages, (Role.ASSISTANT,)) + 1
    enough: Fit | None = None
    place = tokens = 0
    for step, (place, tokens) in enumerate(way.steps(mark)):
        room = window.room(fixed + tokens)
        if enough is None and room >= window.least:
            enough = Fit(mark=place, tokens=tokens, fits=True)
            if step == 0:
                break
        if enough is not None and place > answered:
            break
        if enough is not None and room >= window.most:
            return Fit(mark=place, tokens=tokens, fits=True)
    return enough or Fit(mark=place, tokens=tokens, fits=False)


class Truncating:
    """Message by message to its beginning, except the first, the last user message and the last from outside."""

    def __init__(self, messages: Sequence[LLMMessage], cost: Cost) -> None:
        self._messages = messages
        self._cost = cost
        self._whole = {0, index_of_last(messages, (Role.USER,)), index_of_last(messages, _OUTSIDE)}
        # The messages that were looked at, short where they may be.
        self._short: dict[int, LLMMessage] = {}

    def steps(self, mark: int) -> Iterator[tuple[int, int]]:
        messages, cost = self._messages, self._cost
        tokens = sum(map(cost, self.sent(mark)))
        yield mark, tokens
        for index in range(mark, len(messages)):
            if index not in self._whole:
                tokens += cost(self._shortened(index)) - cost(messages[index])
                yield index + 1, tokens

    def sent(self, mark: int) -> list[LLMMessage]:
        return [*map(self._shortened, range(mark)), *self._messages[mark:]]

    def _shortened(self, index: int) -> LLMMessage:
        if index not in self._short:
            message = self._messages[index]
            self._short[index] = message if index in self._whole else short(message)
        return self._short[index]


class DroppingTurns:
    """Turn by turn away, and the last turn, which the model is still at work on, call by call.

    The message that opened the last turn stays, as the last user message does. A call goes with its results: providers
    refuse one without the other.
    """

    def __init__(self, messages: Sequence[LLMMessage], cost: Cost) -> None:
        self._messages = messages
        self._costs = [cost(message) for message in messages]
        self._last_user = index_of_last(messages, (Role.USER,))
        self._opening = index_of_last(messages, _OUTSIDE)

    def steps(self, mark: int) -> Iterator[tuple[int, int]]:
        starts = self._starts()
        rest, counted = sum(self._costs), 0
        for start in [start for start in starts if start >= mark] or starts[-1:]:
            rest -= sum(self._costs[counted:start])
            counted = start
            yield start, rest + sum(self._costs[i] for i in self._kept_before(start))

    def sent(self, mark: int) -> list[LLMMessage]:
        return [*(self._messages[i] for i in self._kept_before(mark)), *self._messages[mark:]]

    def _starts(self) -> list[int]:
        """The first message, which leaves out nothing, and wherever else a turn begins, or a call in the last one."""
        starts = [0]
        for index, message in enumerate(self._messages[2:], start=2):
            if message.role in _OUTSIDE or (message.role == Role.ASSISTANT and index > self._opening):
                starts.append(index)
        return starts

    def _kept_before(self, start: int) -> list[int]:
        kept = {0, self._last_user, self._opening}
        return sorted(index for index in kept if index < start)


def index_of_last(messages: Sequence[LLMMessage], roles: tuple[Role, ...]) -> int:
    """The index of the last message, after the first, of one of the roles; 0 if there is none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].role in roles:
            return index
    return 0
