"""What a scenario is: a team, what is said to it, and the transcript that must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.rules.cast import Cast

from turnwise import Task

RUN, RUN_ASYNC, SERVED = "run", "run_async", "served"
WAYS = (RUN, RUN_ASYNC, SERVED)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`covers` are ids of rules; `says` is the message of each run, `answers` what the human says in turn.

    `transcript` is written as `tests/rules/transcript.py` shows it, `...` stands for any
    text in a line, alone for any lines. `sent` gives,
    for some agents, the last prompt of their model without the system message. `shows` names metadata that the
    transcript tells, `never` the ways in which the scenario is not played, each with the reason.
    """

    id: str
    covers: tuple[str, ...]
    team: Callable[[Cast], Task]
    transcript: tuple[str, ...]
    says: Sequence[Any] = ("go",)
    answers: tuple[str, ...] = ()
    sent: Mapping[str, str] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    turns: int | None = None
    max_turns: int = 60
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    # Seconds.
    max_time: float | None = None
    return_type: Any = None
    never: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.id


def scenario(covers: str, transcript: str, **more: Any) -> Callable[[Callable[[Cast], Task]], Scenario]:
    """Make a scenario of a function that builds the team; its id is the function's name."""

    def make(team: Callable[[Cast], Task]) -> Scenario:
        return Scenario(
            id=team.__name__.replace("_", "-"),
            covers=tuple(covers.split()),
            team=team,
            transcript=tuple(line.strip() for line in transcript.strip().splitlines()),
            **more,
        )

    return make
