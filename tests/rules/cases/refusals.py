"""Calls of models that are not made, because they could go over a limit, and what counts toward one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.rules.cast import COMPLETION_TOKENS, Cast
from tests.rules.scenario import scenario
from tests.rules.words import tool

from turnwise import ChatAgent, LLMConfig, Task, ToolMessage

BOUNDED = LLMConfig(type="mock", max_output_tokens=COMPLETION_TOKENS)


class Consult(ToolMessage):
    request: str = "consult"
    purpose: str = "To ask an expert."


class Boss(ChatAgent):
    """Asks an expert, who is no part of the team, in a handler."""

    expert: Any = None

    def consult(self, _: Consult) -> str:
        said = self.expert.run("what do you say?")
        return said.content if said is not None else "nothing"


def consulting(cast: Cast, *lines: str, expert: LLMConfig | None = None) -> Task:
    boss = cast.agent("Boss", tool("consult"), *lines, tools=[Consult], kind=Boss)
    boss.expert = Task(cast.agent("Expert", "DONE buy", llm=expert), interactive=False)
    return cast.task(boss)


@scenario(
    "LIMIT-10 LIMIT-6",
    """
    Boss LLM: one
    Boss Agent: again
    Boss = MAX_TOKENS
    => again
    """,
    max_tokens=29,
)
def a_call_that_could_take_too_many_tokens_is_not_made(cast: Cast) -> Task:
    return cast.task("Boss", "one", agent={"llm": BOUNDED, "handle_llm_no_tool": "again"})


@scenario(
    "LIMIT-10 LIMIT-5",
    """
    Boss LLM: one
    Boss Agent: again
    Boss = MAX_COST
    => again
    """,
    max_cost=Decimal("0.019"),
)
def a_call_that_could_cost_too_much_is_not_made(cast: Cast) -> Task:
    return cast.task("Boss", "one", agent={"llm": BOUNDED, "handle_llm_no_tool": "again"})


@scenario(
    "LIMIT-10",
    """
    Boss LLM: one
    Boss Agent: again
    Boss LLM: DONE two
    Boss = DONE
    => two
    """,
    max_tokens=30,
    max_cost=Decimal("0.02"),
)
def a_call_that_can_just_reach_a_limit_is_made(cast: Cast) -> Task:
    return cast.task("Boss", "one", "DONE two", agent={"llm": BOUNDED, "handle_llm_no_tool": "again"})


@scenario(
    "LIMIT-10 LIMIT-4",
    """
    Boss LLM: ask Bob
    Bob <- ask Bob
    Bob LLM: ask Eve
    Eve <- ask Eve
    Eve = MAX_TOKENS
    Bob = MAX_TOKENS
    Boss = MAX_TOKENS
    => ask Eve
    """,
    max_tokens=44,
)
def a_refused_call_of_a_sub_task_ends_all_its_callers(cast: Cast) -> Task:
    eve = cast.task(cast.agent("Eve", "never", llm=BOUNDED))
    return cast.task("Boss", "ask Bob", subs=[cast.task("Bob", "ask Eve", subs=[eve])])


@scenario(
    "LIMIT-4 LIMIT-6",
    """
    Boss LLM: {consult}
    Boss Agent: buy
    Boss = MAX_TOKENS
    => buy
    """,
    max_tokens=29,
)
def what_a_handlers_task_uses_counts(cast: Cast) -> Task:
    return consulting(cast)


@scenario(
    "LIMIT-4 LIMIT-10",
    """
    Boss LLM: {consult}
    Boss = MAX_COST
    => {consult}
    """,
    max_cost=Decimal("0.019"),
)
def a_refused_call_in_a_handler_ends_the_run_as_well(cast: Cast) -> Task:
    return consulting(cast, expert=BOUNDED)
