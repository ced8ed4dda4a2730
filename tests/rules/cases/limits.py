"""The end of tasks by limits."""

from __future__ import annotations

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import tool

from turnwise import (
    Task,
)


@scenario(
    "LIMIT-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob Agent: on
    Bob LLM: two
    Bob Agent: on
    Bob LLM: DONE three
    Bob = DONE
    Boss Bob: three
    Boss = FIXED_TURNS
    => three
    """,
    turns=2,
)
def turns_do_not_bind_sub_tasks(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", "two", "DONE three", agent={"handle_llm_no_tool": "on"})
    return cast.task("Boss", "ask", subs=[bob])


@scenario(
    "LIMIT-2",
    """
    Boss LLM: {add a=1}
    Boss = FIXED_TURNS
    => {add a=1}
    """,
)
def a_single_round_is_one_turn(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), tools=[Add], single_round=True)


@scenario(
    "LIMIT-2",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss = FIXED_TURNS
    => 2
    """,
)
def a_single_round_of_a_delegating_model_is_two_turns(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), tools=[Add], single_round=True, llm_delegate=True)


@scenario(
    "LIMIT-2 LIMIT-1",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: three
    Boss = FIXED_TURNS
    => three
    """,
    turns=3,
)
def turns_given_to_run_come_before_a_single_round(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), "three", tools=[Add], single_round=True)


@scenario(
    "LIMIT-3 RESULT-1",
    """
    Boss LLM: one
    Boss Agent: on
    Boss LLM: two
    Boss = MAX_TURNS
    => nothing
    """,
    turns=3,
    max_turns=3,
)
def the_global_limit_comes_before_the_tasks_own(cast: Cast) -> Task:
    return cast.task("Boss", "one", "two", agent={"handle_llm_no_tool": "on"})


@scenario(
    "LIMIT-3 RESULT-8",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob Agent: on
    Bob LLM: two
    Bob = MAX_TURNS
    Boss nobody
    Boss = STALLED
    => nothing
    """,
    max_turns=3,
)
def the_global_limit_binds_each_task(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", "two", agent={"handle_llm_no_tool": "on"})
    return cast.task("Boss", "ask", subs=[bob], max_stalled_steps=1)


@scenario(
    "LIMIT-7 DONE-10",
    """
    Boss = TIMEOUT
    => go
    """,
    max_time=1e-9,
    turns=1,
)
def a_run_out_of_time_ends_before_anybody_is_asked(cast: Cast) -> Task:
    return cast.task("Boss", "never asked")


@scenario(
    "DONE-10 LIMIT-1",
    """
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    turns=1,
    max_turns=1,
)
def done_comes_before_turns(cast: Cast) -> Task:
    return cast.task("Boss", "DONE")
