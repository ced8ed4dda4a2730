"""Conversations that go round in circles."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario

from turnwise import (
    Task,
    TaskConfig,
)


@scenario(
    "LOOP-2 LOOP-5 RESULT-1",
    """
    Boss LLM: ping
    Boss Agent: pong
    Boss LLM: ping
    Boss Agent: pong
    Boss LLM: ping
    Boss Agent: pong
    Boss LLM: ping
    Boss Agent: pong
    Boss = INF_LOOP
    => raises InfiniteLoopException: ...
    """,
)
def a_conversation_that_repeats_itself_is_ended(cast: Cast) -> Task:
    return _pinging(cast, lambda _: "ping")


def _pinging(cast: Cast, *lines: Any, **config: Any) -> Task:
    quick = TaskConfig(**{"inf_loop_cycle_len": 2, "inf_loop_wait_factor": 2, **config})
    return cast.task("Boss", *lines, agent={"handle_llm_no_tool": "pong"}, config=quick)


@scenario(
    "LOOP-1 LOOP-2",
    """
    ...
    Boss LLM: 5
    Boss = FIXED_TURNS
    => 5
    """,
    turns=9,
)
def messages_that_differ_are_no_loop(cast: Cast) -> Task:
    return _pinging(cast, "1", "2", "3", "4", "5")


@scenario(
    "LOOP-3",
    """
    ...
    Boss LLM: ping
    Boss = FIXED_TURNS
    => ping
    """,
    turns=29,
)
def a_cycle_length_of_none_looks_for_no_loop(cast: Cast) -> Task:
    return _pinging(cast, lambda _: "ping", inf_loop_cycle_len=0)


@scenario(
    "LOOP-4 STEP-7",
    """
    ...
    Boss = INF_LOOP
    => raises InfiniteLoopException: ...DO-NOT-KNOW...
    """,
)
def every_other_answer_a_do_not_know_is_a_loop(cast: Cast) -> Task:
    numbers = tuple(str(number) for number in range(20))
    quick = TaskConfig(inf_loop_wait_factor=2, inf_loop_cycle_len=0)
    return cast.task("Boss", *numbers, allow_null_result=True, config=quick)


@scenario(
    "LOOP-5",
    """
    Boss LLM: ask
    Bob <- ask
    ...
    Bob = INF_LOOP
    => raises InfiniteLoopException: ...
    """,
)
def a_loop_of_a_sub_task_ends_the_whole_run(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[_looping_bob(cast)])


def _looping_bob(cast: Cast) -> Task:
    quick = TaskConfig(inf_loop_cycle_len=2, inf_loop_wait_factor=2)
    return cast.task("Bob", lambda _: "ping", agent={"handle_llm_no_tool": "pong"}, config=quick)
