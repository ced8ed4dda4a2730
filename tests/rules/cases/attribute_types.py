"""Attributes of every type: each comes back as what it was."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, PrivateAttr
from tests.rules.attribute_parts import SHOW, Number, Show, Word, n, team, w
from tests.rules.cast import Cast
from tests.rules.scenario import scenario

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    Task,
)


class Priority(Enum):
    LOW = 1
    HIGH = 2


class Note(BaseModel):
    text: str
    priority: Priority = Priority.LOW
    tags: set[str] = set()
    _seen: int = PrivateAttr(default=0)


@dataclass
class Plan:
    steps: list[Note] = field(default_factory=list)
    at: int = 0


class Planner(ChatAgent):
    """Keeps models and dataclasses, one of which it points to from elsewhere."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.plan = Plan()
        self.current: Note | None = None

    def word(self, msg: Word) -> str:
        self.plan.steps.append(Note(text=msg.w))
        self.current = self.plan.steps[-1]
        return f"{len(self.plan.steps)} steps"

    def number(self, msg: Number) -> str:
        assert self.current is not None
        self.current.priority = Priority(msg.n)
        self.current.tags |= {f"t{msg.n}"}
        self.current._seen += 1
        self.plan.at += 1
        return f"{self.plan.steps[-1].priority} {self.current._seen}"

    def show(self, msg: Show) -> str:
        assert self.current is not None
        # As a list, because a set may have another order in another process.
        tags = [sorted(step.tags) for step in self.plan.steps]
        now = f"{self.current.text} {self.current.priority}"
        return f"{self.plan.at} {now} {tags} {self.current is self.plan.steps[-1]}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=a}
    Boss Agent: 1 steps
    Boss LLM: {word w=b}
    Boss Agent: 2 steps
    Boss LLM: {number n=2}
    Boss Agent: Priority.HIGH 1
    Boss LLM: {number n=1}
    Boss Agent: Priority.LOW 2
    Boss LLM: {show}
    Boss Agent: 2 b Priority.LOW [[], ['t1', 't2']] True
    Boss = FIXED_TURNS
    => ...
    """,
    turns=10,
)
def models_and_dataclasses_last_and_what_two_attributes_share_stays_shared(cast: Cast) -> Task:
    return team(Planner, w("a"), w("b"), n(2), n(1), SHOW)(cast)


class Kinds(ChatAgent):
    """Keeps values of many types."""

    def number(self, msg: Number) -> str:
        self.values: list[Any] = [
            (msg.n, "a"),
            {msg.n},
            frozenset({1}),
            b"x",
            Decimal("1.50"),
            date(2026, 1, msg.n),
            timedelta(hours=msg.n),
            PurePosixPath("a/b"),
            Counter("aab"),
            defaultdict(list, {1: [2]}),
            deque([1, 2, 3], maxlen=3),
            {1: "one", None: "none"},
            float("inf"),
            True,
            1.0,
            Priority.HIGH,
            Number,
        ]
        return "kept"

    def word(self, msg: Word) -> str:
        self.values[8].update(msg.w)
        self.values[9]["new"].append(1)
        self.values[10].append(4)
        return "changed"

    def show(self, msg: Show) -> str:
        return repr(self.values)


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=3}
    Boss Agent: kept
    Boss LLM: {word w=bb}
    Boss Agent: changed
    Boss LLM: {show}
    Boss Agent: [(3, 'a'), {3}, ..., Counter({'b': 3, 'a': 2}), ... 'new': [1]...deque([2, 3, 4], maxlen=3), ...]
    Boss = FIXED_TURNS
    => ...
    """,
    turns=6,
)
def values_come_back_as_the_types_that_they_were(cast: Cast) -> Task:
    return team(Kinds, n(3), w("bb"), SHOW)(cast)
