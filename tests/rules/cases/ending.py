"""How tasks end: the order of the checks, overrides, limits, done-sequences, loops."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentEvent,
    ChatAgent,
    ChatDocument,
    DoneSequence,
    EventType,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)

OPEN: dict[str, Any] = {"interactive": True, "only_user_quits_root": False}


# --- the order of the checks ---


@scenario(
    "DONE-2 RESULT-6 VALID-1",
    """
    Boss LLM: {add a=1}
    Boss = DONE
    => {add a=1}
    """,
)
def a_known_tool_may_end_the_task_before_it_is_handled(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), tools=[Add], config=TaskConfig(done_if_tool=True))


@scenario(
    "RESULT-6 TYPE-3 DONE-2",
    """
    Boss LLM: {add a=1} {say text=so} {add a=2}
    Boss = DONE
    => list [Add(request='add', ... a=1, b=1), Add(request='add', ... a=2, b=1)]
    """,
    return_type=list[Add],
)
def the_tools_that_ended_the_task_are_handed_on_as_tools(cast: Cast) -> Task:
    line = f"{tool('add', a=1)} {tool('say', text='so')} {tool('add', a=2)}"
    return cast.task("Boss", line, tools=[Add, Say], config=TaskConfig(done_if_tool=True))


@scenario(
    "DONE-2",
    """
    Boss LLM: {unknown}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_unknown_tool_does_not_end_the_task(cast: Cast) -> Task:
    return cast.task("Boss", tool("unknown"), tools=[Add], config=TaskConfig(done_if_tool=True), max_stalled_steps=1)


@scenario(
    "DONE-2 TOOL-4 RESULT-6",
    """
    Boss LLM: {add a=1}
    Boss = DONE
    => Add Add(request='add', ... a=1, b=1)
    """,
    return_type=Add,
)
def done_if_tool_needs_no_handler(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("add", a=1))
    agent.enable_message(Add, handle=False)
    return cast.task(agent, config=TaskConfig(done_if_tool=True))


@scenario(
    "DONE-2 DONE-4",
    """
    Boss nobody
    Boss = DONE
    => {add a=1}
    """,
    says=[tool("add", a=1)],
)
def a_tool_comes_before_stalled_steps(cast: Cast) -> Task:
    agent = cast.agent("Boss")
    agent.enable_message(Add, handle=False)
    return cast.task(agent, config=TaskConfig(done_if_tool=True), max_stalled_steps=1)


@scenario(
    "DONE-3 DONE-4 SEQ-1",
    """
    Boss nobody
    Boss = DONE
    => go
    """,
)
def a_done_sequence_comes_before_stalled_steps(cast: Cast) -> Task:
    return cast.task("Boss", config=TaskConfig(done_sequences=["U"]), max_stalled_steps=1)


@scenario(
    "DONE-4 RESULT-1",
    """
    Boss LLM: one
    Boss nobody
    Boss nobody
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def too_many_stalled_steps_end_the_task_without_a_result(cast: Cast) -> Task:
    return cast.task("Boss", "one", max_stalled_steps=3)


@scenario(
    "DONE-5 LIMIT-5 DONE-7",
    """
    Boss LLM: DONE dear
    Boss = MAX_COST
    => dear
    """,
    max_cost=Decimal("0.005"),
)
def cost_comes_before_done(cast: Cast) -> Task:
    return cast.task("Boss", "DONE dear")


@scenario(
    "DONE-5 LIMIT-5 LIMIT-6",
    """
    Boss LLM: dear
    Boss = MAX_COST
    => dear
    """,
    max_cost=Decimal("0.005"),
    max_tokens=10,
)
def cost_comes_before_tokens(cast: Cast) -> Task:
    return cast.task("Boss", "dear")


@scenario(
    "DONE-5 LIMIT-6 LIMIT-4",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = MAX_TOKENS
    Boss Bob: mine
    Boss = MAX_TOKENS
    => mine
    """,
    max_tokens=29,
)
def tokens_of_the_whole_tree_count(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "mine", "and more")])


@scenario(
    "LIMIT-5 LIMIT-6 LIMIT-1",
    """
    Boss LLM: one
    Boss Agent: again
    Boss LLM: two
    Boss = FIXED_TURNS
    => two
    """,
    max_cost=Decimal("0.02"),
    max_tokens=30,
    turns=3,
)
def a_limit_that_is_just_reached_ends_nothing(cast: Cast) -> Task:
    return cast.task("Boss", "one", "two", agent={"handle_llm_no_tool": "again"})


@scenario(
    "DONE-6",
    """
    Boss LLM: DONE I say
    Boss User: no
    Boss LLM: oh
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("no", "q"),
)
def only_the_human_ends_an_interactive_root(cast: Cast) -> Task:
    return cast.task("Boss", "DONE I say", "oh", interactive=True)


@scenario(
    "DONE-6 DONE-7",
    """
    Boss LLM: DONE I say
    Boss = DONE
    => I say
    """,
)
def without_only_user_quits_root_the_model_may_end_it(cast: Cast) -> Task:
    return cast.task("Boss", "DONE I say", **OPEN)


@scenario(
    "DONE-6 MSG-9",
    """
    Boss LLM: hello
    Boss User: bye
    Boss = OK
    => bye
    """,
    answers=("bye",),
)
def a_human_who_quits_such_a_root_ends_it_as_ok(cast: Cast) -> Task:
    return cast.task("Boss", "hello", **OPEN)


@scenario(
    "DONE-6 WHO-6",
    """
    Boss LLM -> User: is it DONE?
    Boss User: DONE
    Boss = DONE
    => (empty)
    """,
    answers=("DONE",),
)
def a_question_to_the_human_gives_him_the_say(cast: Cast) -> Task:
    """Not interactive; but while the pending message is for the human, only he ends the root."""
    return cast.task("Boss", "TO[User]: is it DONE?")


@scenario(
    "DONE-6",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: DONE by me
    Bob = DONE
    Boss Bob: by me
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("", "q"),
)
def a_sub_task_is_ended_by_its_model_though_it_is_interactive(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "DONE by me", interactive=True)], interactive=True)


@scenario(
    "DONE-8 RESULT-3",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: it is DONE now
    Bob = DONE
    Boss Bob: it is  now
    Boss LLM: more
    Boss = FIXED_TURNS
    => more
    """,
    turns=3,
)
def a_sub_tasks_done_does_not_end_its_caller(cast: Cast) -> Task:
    return cast.task("Boss", "ask", "more", subs=[cast.task("Bob", "it is DONE now")])


@scenario(
    "DONE-8",
    """
    Boss nobody
    Boss = OK
    => it is
    """,
    says=["it is DONE"],
)
def a_pending_message_that_says_done_ends_the_task(cast: Cast) -> Task:
    return cast.task("Boss")


@scenario(
    "DONE-9 VALID-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM -> Boss: for you
    Bob = OK
    Boss Bob -> Boss: for you
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def a_message_to_the_caller_ends_a_sub_task(cast: Cast) -> Task:
    return cast.task("Boss", "ask", "DONE", subs=[cast.task("Bob", "TO[Boss]: for you")])


@scenario(
    "DONE-7 VALID-3",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss = DONE
    => 2
    """,
)
def an_answer_of_a_named_responder_ends_the_task(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), tools=[Add], done_if_response=["AGENT"])


# --- limits ---


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


# --- overrides ---


class Sated(Task):
    """Ends at a word of its own, and otherwise as usual."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        current = result or self.pending_message
        if current is not None and "enough" in current.content:
            return True, StatusCode.NO_ANSWER
        return super().done(result, r)


@scenario(
    "TASK-7 VALID-1",
    """
    Boss LLM: one
    Boss Agent: on
    Boss LLM: enough
    Boss = NO_ANSWER
    => enough
    """,
)
def done_may_be_overridden(cast: Cast) -> Task:
    return cast.task("Boss", "one", "enough", agent={"handle_llm_no_tool": "on"}, kind=Sated)


@scenario(
    "TASK-7",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob Agent: on
    Bob LLM: enough
    Bob = NO_ANSWER
    Boss Bob: enough
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def done_may_be_overridden_in_a_sub_task(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", "enough", agent={"handle_llm_no_tool": "on"}, kind=Sated)
    return cast.task("Boss", "ask", "DONE", subs=[bob])


class Picky(Task):
    """Takes no answer that has no full stop, nor any of Bob's first."""

    def valid(self, result: ChatDocument | None, r: str) -> bool:
        return super().valid(result, r) and result is not None and result.content.endswith(".")


@scenario(
    "TASK-7 STEP-3",
    """
    Boss LLM refused: half
    Bob <- go
    Bob LLM: whole.
    Bob = FIXED_TURNS
    Boss Bob: whole.
    Boss = FIXED_TURNS
    => whole.
    """,
    turns=1,
)
def valid_may_be_overridden(cast: Cast) -> Task:
    return cast.task("Boss", "half", subs=[cast.task("Bob", "whole.", single_round=True)], kind=Picky)


class Wrapping(Task):
    """Wraps its result in words."""

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        found = super().result(status)
        if found is not None:
            found.content = f"<{status.value if status else ''}: {found.content}>"
        return found


@scenario(
    "TASK-7 RESULT-2",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss Bob: <FIXED_TURNS: mine>
    Boss LLM: DONE it is
    Boss = DONE
    => <DONE: it is>
    """,
)
def result_may_be_overridden(cast: Cast) -> Task:
    bob = cast.task("Bob", "mine", single_round=True, kind=Wrapping)
    return cast.task("Boss", "ask", "DONE it is", subs=[bob], kind=Wrapping)


class Silent(Task):
    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        return None


@scenario(
    "TASK-7 RESULT-8",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_override_may_give_no_result(cast: Cast) -> Task:
    bob = cast.task("Bob", "mine", single_round=True, kind=Silent)
    return cast.task("Boss", "ask", subs=[bob], max_stalled_steps=1)


class Torn(Task):
    def valid(self, result: ChatDocument | None, r: str) -> bool:
        raise KeyError("no opinion")


@scenario(
    "ERR-2 TASK-7",
    """
    => raises KeyError: 'no opinion'
    """,
)
def an_override_that_raises_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", "hm", kind=Torn)


class Watching(Task):
    """Ends when Bob has answered, whatever he says."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if self.pending_sender == "Bob":
            return True, StatusCode.DONE
        return super().done(result, r)


@scenario(
    "TASK-7 STEP-4",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: mine
    Bob = FIXED_TURNS
    Boss Bob: mine
    Boss = DONE
    => mine
    """,
)
def an_override_may_look_at_the_pending_message_and_its_sender(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "mine", single_round=True)], kind=Watching)


# --- done-sequences ---


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


# --- loops ---


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


# --- killed ---


class Killing(ToolMessage):
    request: str = "killing"
    purpose: str = "To kill the run."


class Killer(ChatAgent):
    """Kills the task that it works for."""

    victim: Task

    def killing(self, _: Killing) -> str:
        self.victim.kill()
        return "DONE killed"


@scenario(
    "DONE-1 LIMIT-8 DONE-7",
    """
    Boss LLM: {killing}
    Boss Agent: DONE killed
    Boss = KILL
    => killed
    """,
    never={"served": "a served run is cancelled over HTTP, not by its own handler"},
)
def a_killed_task_ends_with_kill_before_all_else(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("killing"), kind=Killer, tools=[Killing])
    agent.victim = cast.task(agent, kind=Stubborn)
    return agent.victim  # type: ignore[no-any-return]


class Stubborn(Task):
    """Never ends by itself."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        return False, StatusCode.OK
