"""The conversations of a chaos run, made from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from tests.chaos import words

# What cuts a conversation short.
Cut = Literal["cost", "tokens", "deadline", "cancel"]
_SESSION_LENGTH = 3


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """One run: `case` is its name everywhere; `cut` says what ends it before its time, if anything does.

    A cut by cost or tokens comes with its limit; a `deadline` is in seconds; a `cancel` comes after so many events.
    """

    case: str
    task: str
    steps: tuple[str, ...]
    session: str | None = None
    cut: Cut | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    deadline: float | None = None
    cancel_after: int | None = None

    @property
    def message(self) -> str:
        """Return the message that its run is submitted with."""
        return words.order(self.case, self.steps)

    @property
    def limited(self) -> bool:
        """Return whether it may spend so much and no more."""
        return self.max_cost is not None or self.max_tokens is not None


def make(count: int, seed: int) -> list[Conversation]:
    """`count` conversations, in the order in which they are submitted; the same for the same seed.

    Of ten, about three are parts of sessions, two are cut short in some way, five just run.
    """
    chance = random.Random(f"conversations {seed}")
    made: list[Conversation] = []
    while len(made) < count:
        number = len(made)
        kind = number % 10
        if kind == 0 and number + _SESSION_LENGTH <= count:
            made += _session(chance, number)
        elif kind in (3, 6):
            made.append(_cut_short(chance, number))
        else:
            made.append(_plain(chance, number, chance.choice(("desk", "desk", "caller"))))
    return made


def _plain(chance: random.Random, number: int, task: str) -> Conversation:
    steps = chance.choices(words.STEPS, weights=(2, 2, 2, 3, 1, 1, 1, 1), k=chance.randint(2, 5))
    return Conversation(case=f"c{number:04}", task=task, steps=tuple(steps))


def _session(chance: random.Random, first: int) -> Sequence[Conversation]:
    parts = [_plain(chance, first + place, "diary") for place in range(_SESSION_LENGTH)]
    return [replace(part, session=f"session-{first}") for part in parts]


def _cut_short(chance: random.Random, number: int) -> Conversation:
    """A long one; what its limit is in money and tokens is known once it was played without one."""
    plain = _plain(chance, number, "desk")
    steps = ("look", "think", *plain.steps, "think", "book")
    cut: Cut = chance.choice(("cost", "tokens", "deadline", "cancel"))
    made = replace(plain, steps=steps, cut=cut)
    if cut == "deadline":
        return replace(made, deadline=round(chance.uniform(1.5, 4.0), 1))
    if cut == "cancel":
        return replace(made, cancel_after=chance.randint(5, 25))
    return made
