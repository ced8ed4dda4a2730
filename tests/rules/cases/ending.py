"""The ends of tasks: the order of the checks, and a task that is killed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, tool

from turnwise import (
    ChatAgent,
    ChatDocument,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)

OPEN: dict[str, Any] = {"interactive": True, "only_user_quits_root": False}


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
    "DONE-2 FIND-4 RESULT-6",
    """
    Boss LLM: calls c1:add a=1
    Boss = DONE
    => Add Add(request='add', ... a=1, b=1)
    """,
    return_type=Add,
)
def done_if_tool_needs_no_handler_of_an_api_call(cast: Cast) -> Task:
    agent = cast.agent("Boss", calls(call("c1", "add", a=1)), use_functions_api=True)
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
