"""API calls: which are open, what answers them, what the model is sent."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, function

from turnwise import ChatDocMetaData, ChatDocument, Entity, Task, TaskConfig

API: dict[str, Any] = {"use_functions_api": True, "use_tools": False}


def _calling(cast: Cast, *lines: Any, **more: Any) -> Task:
    return cast.task("Boss", *lines, tools=[Add, Say], agent=API, **more)


@scenario(
    "CALL-2 HIST-9",
    """
    Boss LLM: calls c1:add a=1
    Boss Agent: 2
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:add
        tool c1: 2
        """
    },
)
def a_call_is_answered_by_its_handler(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "add", a=1)), "DONE")


@scenario(
    "CALL-2",
    """
    Boss LLM -> User: may I? calls c1:other
    Boss User: yes
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    answers=("yes",),
    sent={
        "Boss": """
        user: go
        assistant: may I? c1:other
        tool c1: yes
        """
    },
)
def a_human_answers_the_open_call(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "other"), text="TO[User]: may I?"), "DONE")


@scenario(
    "CALL-2",
    """
    Boss LLM: calls c1:other
    Bob <- calls c1:other
    Bob LLM: DONE by Bob
    Bob = DONE
    Boss Bob: by Bob (oai_tool_id=c1)
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other
        tool c1: by Bob
        """
    },
    shows=("oai_tool_id",),
)
def a_sub_tasks_result_answers_the_open_call(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "other")), "DONE", subs=[cast.task("Bob", "DONE by Bob")])


@scenario(
    "CALL-3 CALL-1",
    """
    Boss LLM: calls c1:add a=1, c2:say text=so
    Boss Agent: results c1=2, c2=so
    Boss LLM: calls c3:add a=3
    Boss Agent: 4
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:add c2:say
        tool c1: 2
        tool c2: so
        assistant: c3:add
        tool c3: 4
        """
    },
)
def each_call_has_its_result_and_is_closed_by_it(cast: Cast) -> Task:
    first = calls(call("c1", "add", a=1), call("c2", "say", text="so"))
    return _calling(cast, first, calls(call("c3", "add", a=3)), "DONE")


def _results_by(cast: Cast, *ids: str, made: int = 2) -> Task:
    """Boss makes calls, which Bob answers with results by these ids."""

    def answer(_: ChatDocument) -> ChatDocument:
        return ChatDocument(
            content="DONE",
            content_any="DONE",
            oai_tool_id2result={name: f"result {name}" for name in ids},
            metadata=ChatDocMetaData(sender=Entity.AGENT),
        )

    bob = cast.task("Bob", "hm", agent={"handle_llm_no_tool": answer})
    both = call("c1", "other"), call("c2", "another")
    return _calling(cast, calls(*both[:made]), "DONE", subs=[bob])


@scenario(
    "CALL-2 CALL-4",
    """
    Boss LLM: calls c1:other
    Bob <- calls c1:other
    Bob LLM: hm
    Bob Agent: DONE results x=result x, y=result y
    Bob = DONE
    Boss Bob: Result from tool/function x: result x / Result from tool/function y: result y
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other
        tool c1: Result from tool/function x: result x / Result from tool/function y: result y
        """
    },
)
def whatever_comes_answers_the_only_open_call(cast: Cast) -> Task:
    return _results_by(cast, "x", "y", made=1)


@scenario(
    "CALL-2",
    """
    ...
    Bob Agent: DONE results x=result x
    Bob = DONE
    Boss Bob: result x (oai_tool_id=c1)
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    shows=("oai_tool_id",),
)
def one_result_is_that_of_the_only_open_call_whatever_its_id(cast: Cast) -> Task:
    return _results_by(cast, "x", made=1)


@scenario(
    "CALL-3",
    """
    Boss LLM: calls c1:other, c2:another
    Bob <- calls c1:other, c2:another
    Bob LLM: hm
    Bob Agent: DONE results x=result x, y=result y
    Bob = DONE
    Boss Bob: results c1=result x, c2=result y
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other c2:another
        tool c1: result x
        tool c2: result y
        """
    },
)
def as_many_results_as_calls_are_taken_in_order(cast: Cast) -> Task:
    return _results_by(cast, "x", "y")


@scenario(
    "CALL-4 CALL-6",
    """
    Boss LLM: calls c1:other, c2:another
    Bob <- calls c1:other, c2:another
    Bob LLM: hm
    Bob Agent: DONE results x=result x, c2=result c2, y=result y
    Bob = DONE
    Boss Bob: result c2 / Result from tool/function x: result x / Result from tool/function y: result y
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other c2:another
        tool c2: result c2 / Result from tool/function x: result x / Result from tool/function y: result y
        tool c1: ERROR: there is no tool named `other`.
        """
    },
)
def results_with_an_open_id_are_results_and_others_text(cast: Cast) -> Task:
    return _results_by(cast, "x", "c2", "y")


@scenario(
    "CALL-5 CALL-6",
    """
    Boss LLM -> User: which? calls c1:other, c2:another
    Boss User: the first
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    answers=("the first",),
    sent={
        "Boss": """
        user: go
        assistant: which? c1:other c2:another
        tool c1: the first
        tool c2: ERROR: there is no tool named `another`.
        """
    },
)
def one_text_answers_the_first_of_several_calls(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "other"), call("c2", "another"), text="TO[User]: which?"), "DONE")


@scenario(
    "CALL-6 FIND-8",
    """
    Boss LLM: calls c1:add a=x, c2:add a=2, c3:other
    Boss Agent: results c1=There was an error ..., c2=3, c3=...`other`...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:add c2:add c3:other
        tool c1: There was an error ...`add`...
        tool c2: 3
        tool c3: ...`other`...
        """
    },
)
def bad_and_unknown_calls_among_good_ones_are_answered(cast: Cast) -> Task:
    line = calls(call("c1", "add", a="x"), call("c2", "add", a=2), call("c3", "other"))
    return _calling(cast, line, "DONE")


@scenario(
    "CALL-7",
    """
    Boss LLM: calls c1:say text=all DONE, c2:add a=2
    Boss Agent: results c1=ERROR: Please use ONE tool at a time!, c2=ERROR: Please use ONE tool at a time!
    Boss LLM: calls c3:say text=__PASS__, c4:add a=2
    Boss Agent: results c3=ERROR: Please use ONE tool at a time!, c4=ERROR: Please use ONE tool at a time!
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def a_signal_in_one_of_several_results_is_an_error_for_each(cast: Cast) -> Task:
    first = calls(call("c1", "say", text="all DONE"), call("c2", "add", a=2))
    return _calling(cast, first, calls(call("c3", "say", text="__PASS__"), call("c4", "add", a=2)))


@scenario(
    "CALL-8 TASK-5",
    """
    Boss LLM: look calls c1:other x=1
    Bob <- look calls c1:other x=1
    Bob LLM: DONE seen
    Bob = DONE
    Boss Bob: seen
    Boss = FIXED_TURNS
    => seen
    """,
    turns=2,
    sent={
        "Bob": """
        user: look / other({"x": 1})
        """
    },
)
def a_sub_task_is_shown_calls_as_text(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "other", x=1), text="look"), subs=[cast.task("Bob", "DONE seen")])


@scenario(
    "CALL-2 CALL-10",
    """
    Boss LLM: calls add a=1
    Boss Agent: 2
    Boss LLM: calls say text=so
    Boss Agent: so
    Boss = FIXED_TURNS
    => so
    """,
    turns=4,
    sent={
        "Boss": """
        user: go
        assistant:
        function: 2
        """
    },
)
def deprecated_calls_go_on_one_after_the_other(cast: Cast) -> Task:
    return _calling(cast, function("add", a=1), function("say", text="so"))


@scenario(
    "CALL-1 CALL-6",
    """
    Boss LLM: calls c1:add a=1, c2:add a=2
    Boss Agent: results c1=2, c2=3
    Boss User: stop
    Boss LLM: DONE
    Boss = FIXED_TURNS
    => (empty)
    """,
    answers=("stop",),
    turns=4,
    sent={
        "Boss": """
        user: go
        assistant: c1:add c2:add
        tool c1: stop
        tool c2:
        """
    },
)
def a_human_may_speak_in_the_place_of_results(cast: Cast) -> Task:
    return _calling(cast, calls(call("c1", "add", a=1), call("c2", "add", a=2)), "DONE", interactive=True)


@scenario(
    "CALL-5 CALL-6",
    """
    Boss LLM: calls c1:other, c2:another
    Bob <- calls c1:other, c2:another
    Bob LLM: DONE both
    Bob = DONE
    Boss Bob: both (oai_tool_id=c1)
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:other c2:another
        tool c1: both
        tool c2: ERROR: there is no tool named `another`.
        """
    },
    shows=("oai_tool_id",),
)
def a_sub_tasks_text_answers_the_first_of_several_calls(cast: Cast) -> Task:
    line = calls(call("c1", "other"), call("c2", "another"))
    return _calling(cast, line, "DONE", subs=[cast.task("Bob", "DONE both")])


@scenario(
    "CALL-11",
    """
    Boss LLM: calls c1:add a=1, c2:add a=2
    Boss Bob: results c1=ERROR: Use ONE tool at a time!, c2=ERROR: Use ONE tool at a time!
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def a_task_may_give_its_sub_tasks_one_call_at_a_time(cast: Cast) -> Task:
    bob = cast.task("Bob", tools=[Add])
    agent = cast.agent("Boss", calls(call("c1", "add", a=1), call("c2", "add", a=2)), **API)
    agent.enable_message(Add, handle=False)
    return cast.task(agent, subs=[bob], config=TaskConfig(allow_subtask_multi_oai_tools=False))


@scenario(
    "WHO-7 FIND-4 CALL-2",
    """
    Boss LLM: calls c1:add a=1
    Bob <- calls c1:add a=1
    Bob Agent: 2
    Bob = FIXED_TURNS
    Boss Bob: 2
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: c1:add
        tool c1: 2
        """
    },
)
def a_call_goes_to_the_sub_task_that_handles_the_tool(cast: Cast) -> Task:
    boss = cast.agent("Boss", calls(call("c1", "add", a=1)), "DONE", **API)
    knows = cast.agent("Eve", "never asked")
    for agent in (boss, knows):
        agent.enable_message(Add, handle=False)
    bob = cast.task("Bob", "never asked", tools=[Add], single_round=True)
    return cast.task(boss, subs=[cast.task(knows), bob])


@scenario(
    "CALL-6 FIND-8",
    """
    Boss LLM: calls c1:add a=x
    Bob <- calls c1:add a=x
    Bob Agent: There was an error in your use of the tool `add`: / - field `a`: ...
    Bob = FIXED_TURNS
    Boss Bob: There was an error in your use of the tool `add`: / - field `a`: ...
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def a_bad_call_is_explained_by_the_sub_task_that_handles_the_tool(cast: Cast) -> Task:
    boss = cast.agent("Boss", calls(call("c1", "add", a="x")), "DONE", **API)
    boss.enable_message(Add, handle=False)
    bob = cast.task("Bob", "never asked", tools=[Add], single_round=True)
    return cast.task(boss, subs=[bob])
