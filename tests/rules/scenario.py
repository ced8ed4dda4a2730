"""A scenario: a team, the messages to it, and the transcript that must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.rules.cast import Cast

from turnwise import Task, ToolMessage

RUN, RUN_ASYNC, SERVED, HTTP = "run", "run_async", "served", "http"
WAYS = (RUN, RUN_ASYNC, SERVED, HTTP)
# Steps that end a run that goes on for ever by mistake; no scenario needs so many.
_MAX_TURNS = 60


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
    max_turns: int = _MAX_TURNS
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    # Seconds.
    max_time: float | None = None
    return_type: Any = None
    never: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.id


def not_over_http(scenario: Scenario) -> str | None:
    """Return why the scenario cannot be played over HTTP; None if it can."""
    for way in (HTTP, SERVED, RUN):
        if way in scenario.never:
            return scenario.never[way]
    if not all(isinstance(said, str) and said.strip() for said in scenario.says):
        return "a run over HTTP begins with a text"
    if scenario.max_turns != _MAX_TURNS:
        return "the global limit of turns is no part of a request"
    return None


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


def done_by_a_handler(covers: str, says: str, **more: Any) -> Callable[[Callable[[], str]], Scenario]:
    """Make a scenario of a function that a handler calls: what it returns is what AGENT has to say.

    So what a program may do by itself is played wherever handlers run, too.
    """

    def make(work: Callable[[], str]) -> Scenario:
        class Do(ToolMessage):
            request: str = "do"
            purpose: str = "To do what the scenario is about."

            def handle(self) -> str:
                return work()

        def team(cast: Cast) -> Task:
            return cast.task("Boss", '{"request": "do"}', tools=[Do])

        team.__name__ = work.__name__
        lines = f"Boss LLM: {{do}}\nBoss Agent: {says}\nBoss = FIXED_TURNS\n=> {says}"
        return scenario(covers, lines, turns=2, **more)(team)

    return make
