"""Events in a row that end a task."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentEvent,
    DoneSequence,
    EventType,
    Task,
    TaskConfig,
    ToolMessage,
)


def _until(cast: Cast, *sequences: Any, lines: tuple[Any, ...] = (), **more: Any) -> Task:
    lines = lines or (tool("add", a=1), tool("say", text="so"), "words", "over")
    agent = more.pop("agent", {"handle_llm_no_tool": "on"})
    config = TaskConfig(done_sequences=list(sequences))
    return cast.task("Boss", *lines, tools=[Add, Say], agent=agent, config=config, **more)


@scenario(
    "SEQ-1 SEQ-2 DONE-3",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss = DONE
    => 2
    """,
)
def a_tool_and_its_result_are_a_sequence(cast: Cast) -> Task:
    return _until(cast, "T, A")


@scenario(
    "SEQ-1 SEQ-2",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss Agent: so
    Boss LLM: words
    Boss = DONE
    => words
    """,
)
def events_must_follow_each_other_directly(cast: Cast) -> Task:
    return _until(cast, "T, A, L")


@scenario(
    "SEQ-1",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss Agent: so
    Boss LLM: words
    Boss = FIXED_TURNS
    => words
    """,
    turns=5,
)
def events_with_another_between_them_do_not_count(cast: Cast) -> Task:
    return _until(cast, "T, L")


@scenario(
    "SEQ-2",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss = DONE
    => {say text=so}
    """,
)
def kinds_may_be_written_out(cast: Cast) -> Task:
    return _until(cast, "tool, agent, tool")


@scenario(
    "SEQ-2",
    """
    Boss LLM: words
    Bob <- words
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss Bob: mine
    Boss = DONE
    => mine
    """,
)
def a_sub_tasks_result_is_an_event_of_the_user(cast: Cast) -> Task:
    bob = cast.task("Bob", "mine", single_round=True)
    return _until(cast, "L, U", lines=("words", "never said"), agent={}, subs=[bob])


@scenario(
    "SEQ-3",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss = DONE
    => {say text=so}
    """,
)
def a_tool_may_be_named_by_its_request(cast: Cast) -> Task:
    return _until(cast, "T[say]")


@scenario(
    "SEQ-3",
    """
    Boss LLM: {say text=a} {say text=b}
    Boss Agent: Result from say: a / Result from say: b
    Boss LLM: {say text=c}
    Boss = DONE
    => {say text=c}
    """,
)
def a_named_tool_must_be_the_only_one(cast: Cast) -> Task:
    return _until(cast, "T[Say]", lines=(f"{tool('say', text='a')} {tool('say', text='b')}", tool("say", text="c")))


@scenario(
    "SEQ-4",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss Agent: so
    Boss LLM: words
    Boss = DONE
    => words
    """,
)
def a_text_is_searched_in_any_case(cast: Cast) -> Task:
    return _until(cast, "C[W[aeiou]+RDS|nothing]")


@scenario(
    "SEQ-1",
    """
    Boss LLM: words
    Boss Agent: on
    Boss LLM: over
    Boss = FIXED_TURNS
    => over
    """,
    turns=3,
)
def the_first_message_is_no_event_once_it_is_answered(cast: Cast) -> Task:
    return _until(cast, "U, L", lines=("words", "over"))


@scenario(
    "SEQ-2 STEP-7",
    """
    Boss LLM: words
    Boss Agent: on
    Boss LLM refused: ...
    Boss nobody
    Boss = FIXED_TURNS
    => on
    """,
    turns=3,
)
def an_empty_answer_that_is_not_taken_is_no_event(cast: Cast) -> Task:
    return _until(cast, "A, N", lines=("words", " "))


@scenario(
    "SEQ-5",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss = DONE
    => {say text=so}
    """,
)
def any_of_several_sequences_ends_the_task(cast: Cast) -> Task:
    return _until(cast, "L, A, L", "A, T")


@scenario(
    "SEQ-1 SEQ-3",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss = DONE
    => 2
    """,
)
def a_sequence_may_be_made_of_events(cast: Cast) -> Task:
    events = [
        AgentEvent(event_type=EventType.SPECIFIC_TOOL, tool_name="add"),
        AgentEvent(event_type=EventType.AGENT_RESPONSE),
    ]
    return _until(cast, DoneSequence(events=events, name="added"))


@scenario(
    "SEQ-2 FIND-4",
    """
    Boss LLM: calls c1:add a=1
    Boss = DONE
    => ...
    """,
)
def an_api_call_is_a_tool_to_a_sequence(cast: Cast) -> Task:
    return _until(cast, "T", lines=(calls(call("c1", "add", a=1)),), agent={"use_functions_api": True})


@scenario(
    "SEQ-2 SEQ-3 FIND-4",
    """
    Boss LLM: calls c1:add a=1
    Boss = DONE
    => ...
    """,
)
def an_api_call_of_a_tool_that_is_not_handled_is_one_to_a_sequence(cast: Cast) -> Task:
    agent = cast.agent("Boss", calls(call("c1", "add", a=1)), use_functions_api=True)
    agent.enable_message(Add, handle=False)
    return cast.task(agent, config=TaskConfig(done_sequences=["T[Add]"]))


@scenario(
    "SEQ-1 HIST-1",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss = FIXED_TURNS
    => {say text=so}
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss LLM: {say text=so}
    Boss = FIXED_TURNS
    => {say text=so}
    """,
    turns=3,
    says=["go", "again"],
)
def a_sequence_begins_anew_with_each_run(cast: Cast) -> Task:
    return _until(cast, "T, A, T, U")


class BadSequence(ToolMessage):
    request: str = "bad"
    purpose: str = "To make a task with a bad sequence."

    def handle(self) -> str:
        for bad in ("T, X", "C[(]", "", "T[a, b]"):
            with pytest.raises(ValueError, match="done-sequence"):
                Task(config=TaskConfig(done_sequences=[bad]))
        return "none was made"


@scenario(
    "SEQ-6",
    """
    Boss LLM: {bad}
    Boss Agent: none was made
    Boss = FIXED_TURNS
    => none was made
    """,
    turns=2,
)
def a_bad_sequence_is_refused_when_the_task_is_made(cast: Cast) -> Task:
    return cast.task("Boss", tool("bad"), tools=[BadSequence])
