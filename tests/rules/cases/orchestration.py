"""Tools that steer a conversation."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentSendTool,
    DonePassTool,
    DoneTool,
    FinalResultTool,
    ForwardTool,
    PassTool,
    RecipientTool,
    ResultTool,
    RewindTool,
    SendTool,
    Task,
    ToolMessage,
)


class Steer(ToolMessage):
    """Returns the tool that steers as it is told."""

    request: str = "steer"
    purpose: str = "To steer <how>."
    how: str

    def handle(self) -> ToolMessage:
        made: dict[str, ToolMessage] = {
            "pass": PassTool(),
            "done": DoneTool(content="steered"),
            "done_pass": DonePassTool(),
            "forward": ForwardTool(agent="Bob"),
            "send": SendTool(to="Bob", content="sent"),
            "agent_send": AgentSendTool(to="Bob", content="sent", tools=[Far(word="along")]),
            "result": ResultTool.model_validate({"number": 3}),
            "final": FinalResultTool.model_validate({"number": 4}),
        }
        return made[self.how]


class Far(ToolMessage):
    """Only Bob handles it."""

    request: str = "far"
    purpose: str = "To go to Bob with a <word>."
    word: str

    def handle(self) -> str:
        return f"DONE got {self.word}"


def _steering(cast: Cast, how: str, *more: Any, bob: str = "DONE mine", **arguments: Any) -> Task:
    """Boss steers; Eve is there before Bob."""
    subs = [cast.task("Eve", "never asked"), cast.task("Bob", bob, tools=[Far])]
    return cast.task("Boss", tool("steer", how=how), *more, tools=[Steer], subs=subs, **arguments)


@scenario(
    "ORCH-1",
    """
    Boss LLM: {done_tool content=x}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_agent_need_not_handle_these_tools(cast: Cast) -> Task:
    off = {"enable_orchestration_tool_handling": False}
    return cast.task("Boss", tool("done_tool", content="x"), agent=off, max_stalled_steps=1)


@scenario(
    "ORCH-1",
    """
    Boss LLM: {rewind_tool n=1, content=x}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def rewinding_is_not_handled_unless_it_is_enabled(cast: Cast) -> Task:
    return cast.task("Boss", tool("rewind_tool", n=1, content="x"), max_stalled_steps=1)


@scenario(
    "ORCH-2 VALID-6",
    """
    Boss LLM: {steer how=done}
    Boss Agent: steered + [done_tool content=steered]
    Boss = DONE
    => steered
    """,
)
def a_handler_may_end_the_task_with_a_text(cast: Cast) -> Task:
    return _steering(cast, "done")


@scenario(
    "ORCH-2 DONE-8",
    """
    Boss LLM: {done_tool content=enough}
    Boss = OK
    => enough
    """,
)
def a_model_may_end_the_task_with_a_text(cast: Cast) -> Task:
    return cast.task("Boss", tool("done_tool", content="enough"))


@scenario(
    "ORCH-4 TYPE-4",
    """
    Boss LLM: {steer how=result}
    Boss Agent: + [agent_done_tool ...] + [result_tool number=3]
    Boss = DONE
    => ResultTool ResultTool(request='result_tool', ... number=3)
    """,
    return_type=ResultTool,
)
def a_result_tool_is_in_the_result(cast: Cast) -> Task:
    return _steering(cast, "result")


@scenario(
    "ORCH-5",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {steer how=final}
    Bob Agent: + [ number=4]
    Bob = DONE
    Boss Bob: + [ number=4]
    Boss = OK
    => int 4
    """,
    return_type=int,
)
def a_final_result_of_a_sub_task_is_the_roots(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", tool("steer", how="final"), tools=[Steer])])


class Verdict(FinalResultTool):
    request: str = "verdict"
    purpose: str = "To end everything with a <word>."
    word: str
    _allow_llm_use: bool = True


@scenario(
    "ORCH-6 ORCH-5 RESULT-5",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {verdict word=yes}
    Bob = OK
    Boss Bob: + [verdict word=yes]
    Boss = OK
    => Verdict Verdict(request='verdict', ... word='yes')
    """,
    return_type=Verdict,
)
def a_model_may_be_allowed_to_give_the_final_result(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", tool("verdict", word="yes"), tools=[Verdict])])


@scenario(
    "ORCH-7",
    """
    Boss LLM: {steer how=pass}
    Boss Agent: {steer how=pass}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_pass_by_a_handler_hands_on_the_message_it_handles(cast: Cast) -> Task:
    return cast.task("Boss", tool("steer", how="pass"), tools=[Steer], max_stalled_steps=1)


@scenario(
    "ORCH-7 ROUTE-1",
    """
    Boss LLM: {pass_tool}
    Boss Agent: go
    Boss LLM refused: __PASS__
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_pass_by_a_model_hands_on_what_it_answered(cast: Cast) -> Task:
    """What is handed on is from AGENT, so the model is asked once more."""
    subs = [cast.task("Bob", "DONE mine")]
    return cast.task("Boss", tool("pass_tool"), "__PASS__", tools=[PassTool], subs=subs)


@scenario(
    "ORCH-8 RESULT-4",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {done_pass_tool}
    Bob Agent: ask + [agent_done_tool content=ask, tools=[]]
    Bob = DONE
    Boss Bob: ask
    Boss = FIXED_TURNS
    => ask
    """,
    turns=2,
)
def a_done_pass_ends_the_task_with_what_the_model_answered(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", tool("done_pass_tool"))])


@scenario(
    "ORCH-9",
    """
    Boss LLM: {forward_tool agent=Bob}
    Boss Agent -> Bob: go
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_forward_goes_to_the_agent_of_that_name(cast: Cast) -> Task:
    subs = [cast.task("Eve", "never asked"), cast.task("Bob", "DONE mine")]
    return cast.task("Boss", tool("forward_tool", agent="Bob"), subs=subs)


@scenario(
    "ORCH-9 HANDLE-8",
    """
    Boss LLM: {steer how=forward}
    Boss Agent -> Bob: {steer how=forward}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_forward_by_a_handler_takes_the_tools_along(cast: Cast) -> Task:
    """Bob handles none of them, so he may not answer."""
    return _steering(cast, "forward", max_stalled_steps=1)


@scenario(
    "ORCH-10",
    """
    Boss LLM: {steer how=send}
    Boss Agent -> Bob: sent
    Bob <- sent
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_handler_may_send_a_text(cast: Cast) -> Task:
    return _steering(cast, "send")


@scenario(
    "ORCH-10 WHO-2",
    """
    Boss LLM: {send_tool to=llm, content=think again}
    Boss Agent -> llm: think again
    Boss LLM: DONE thought
    Boss = DONE
    => thought
    """,
)
def a_text_may_be_sent_to_an_entity(cast: Cast) -> Task:
    subs = [cast.task("Bob", "never asked")]
    return cast.task("Boss", tool("send_tool", to="llm", content="think again"), "DONE thought", subs=subs)


@scenario(
    "ORCH-11 TRUST-12",
    """
    Boss LLM: {steer how=agent_send}
    Boss Agent -> Bob: sent + [far word=along]
    Bob <- sent + [far word=along]
    Bob Agent: DONE got along
    Bob = DONE
    Boss Bob: got along
    Boss = FIXED_TURNS
    => got along
    """,
    turns=3,
)
def a_handler_may_send_tools(cast: Cast) -> Task:
    return _steering(cast, "agent_send")


@scenario(
    "ORCH-12 STEP-4",
    """
    Boss LLM: {recipient_message intended_recipient=Bob, content=hello}
    Boss Agent (LLM) -> Bob: hello
    Bob <- hello
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_model_may_speak_to_somebody_as_itself(cast: Cast) -> Task:
    line = tool("recipient_message", intended_recipient="Bob", content="hello")
    return cast.task("Boss", line, tools=[RecipientTool], subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ORCH-13 ORCH-15",
    """
    Boss LLM: hello
    Boss Agent -> LLM: ...`add_recipient`...
    Boss LLM: {add_recipient intended_recipient=Bob}
    Boss Agent (LLM) -> Bob: hello
    Bob <- hello
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=5,
)
def a_message_without_a_recipient_is_kept_until_there_is_one(cast: Cast) -> Task:
    lines = "hello", tool("add_recipient", intended_recipient="Bob")
    agent = {"handle_llm_no_tool": "never said"}
    return cast.task("Boss", *lines, tools=[RecipientTool], agent=agent, subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ORCH-14",
    """
    Boss LLM: hello
    Boss Agent -> LLM: ...`add_recipient`...
    Boss LLM: no, good day
    Boss Agent -> LLM: ...`add_recipient`...
    Boss LLM: {add_recipient intended_recipient=Bob}
    Boss Agent (LLM) -> Bob: no, good day
    Bob <- no, good day
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss LLM: {add_recipient intended_recipient=Bob}
    Boss Agent -> LLM: ...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=9,
)
def only_the_last_kept_message_goes_out_and_once(cast: Cast) -> Task:
    again = tool("add_recipient", intended_recipient="Bob")
    subs = [cast.task("Bob", "DONE mine")]
    return cast.task("Boss", "hello", "no, good day", again, again, tools=[RecipientTool], subs=subs)


@scenario(
    "ORCH-13 MSG-2",
    """
    Boss LLM -> Bob: hello
    Bob <- hello
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def an_addressed_message_is_not_kept(cast: Cast) -> Task:
    return cast.task("Boss", "TO[Bob]: hello", tools=[RecipientTool], subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ORCH-16 MSG-13",
    """
    Boss LLM: first
    Boss Agent: on
    Boss LLM: second
    Boss Agent: on
    Boss LLM: {rewind_tool n=1, content=better}
    Boss Agent (LLM): better
    Bob <- better
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss LLM: last
    Boss = FIXED_TURNS
    => last
    """,
    turns=8,
    sent={
        "Boss": """
        user: go
        assistant: better
        user: mine
        """
    },
)
def a_model_may_take_back_what_it_said(cast: Cast) -> Task:
    def third(last: str) -> str:
        return tool("rewind_tool", n=1, content="better") if last == "on" else "last"

    def second(last: str) -> str:
        return "second" if last == "on" else "last"

    nudge = {"handle_llm_no_tool": lambda doc: "on" if doc.content in ("first", "second") else None}
    subs = [cast.task("Bob", "DONE mine")]
    return cast.task("Boss", "first", second, third, tools=[RewindTool], agent=nudge, subs=subs)


@scenario(
    "ORCH-18 ORCH-16",
    """
    Boss LLM: early
    Bob <- early
    Bob LLM: early was first
    Bob = FIXED_TURNS
    Boss Bob: early was first
    Boss LLM: first
    Bob <- first
    Bob LLM: first was second
    Bob = FIXED_TURNS
    Boss Bob: first was second
    Boss LLM: {rewind_tool n=2, content=better}
    Boss Agent (LLM): better
    Bob <- better
    Bob LLM: better was second
    Bob = FIXED_TURNS
    Boss Bob: better was second
    Boss = FIXED_TURNS
    => better was second
    """,
    turns=7,
    sent={
        "Bob": """
        user: early
        assistant: early was first
        user: better
        """
    },
)
def sub_tasks_forget_what_was_taken_back(cast: Cast) -> Task:
    bob = cast.task("Bob", lambda said: f"{said} was first", lambda said: f"{said} was second", single_round=True)
    return cast.task(
        "Boss", "early", "first", tool("rewind_tool", n=2, content="better"), tools=[RewindTool], subs=[bob]
    )


@scenario(
    "ORCH-18 CALL-1",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: calls c1:say text=heard
    Bob Agent: heard
    Bob = FIXED_TURNS
    Boss Bob: heard
    Boss LLM: {rewind_tool n=1, content=better}
    Boss Agent (LLM): better
    Bob <- better
    Bob LLM: calls c1:say text=heard
    Bob Agent: heard
    Bob = FIXED_TURNS
    Boss Bob: heard
    Boss = FIXED_TURNS
    => heard
    """,
    turns=5,
    sent={"Bob": "user: better"},
)
def calls_of_what_was_taken_back_are_no_longer_open(cast: Cast) -> Task:
    bob = cast.agent("Bob", lambda _: calls(call("c1", "say", text="heard")), tools=[Say], use_functions_api=True)
    subs = [cast.task(bob, single_round=True, llm_delegate=True)]
    return cast.task("Boss", "first", tool("rewind_tool", n=1, content="better"), tools=[RewindTool], subs=subs)


@scenario(
    "ORCH-16",
    """
    Boss LLM: {rewind_tool n=5, content=better}
    Boss Agent: ...5...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def what_was_not_said_can_not_be_taken_back(cast: Cast) -> Task:
    return cast.task("Boss", tool("rewind_tool", n=5, content="better"), tools=[RewindTool])


@scenario(
    "ORCH-17 ORCH-3",
    """
    Boss LLM: {agent_done_tool content=by myself}
    Boss = OK
    => by myself
    """,
)
def a_models_done_tool_for_handlers_ends_the_task(cast: Cast) -> Task:
    return cast.task("Boss", tool("agent_done_tool", content="by myself"))


@scenario(
    "ORCH-17",
    """
    Boss LLM: {agent_send_tool to=Bob, content=hi}
    Boss Agent -> Bob: hi
    Bob <- hi
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_models_send_tool_for_handlers_is_handled(cast: Cast) -> Task:
    return cast.task("Boss", tool("agent_send_tool", to="Bob", content="hi"), subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ORCH-2 CALL-2 RESULT-4",
    """
    Boss LLM: ask calls c1:other
    Bob <- ask calls c1:other
    Bob LLM: calls d1:done_tool content=fine
    Bob = OK
    Boss Bob: fine
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: ask c1:other
        tool c1: fine
        """
    },
)
def a_done_tool_called_in_a_sub_task_answers_the_callers_call(cast: Cast) -> Task:
    api = {"use_functions_api": True}
    bob = cast.task("Bob", calls(call("d1", "done_tool", content="fine")), agent=api)
    return cast.task("Boss", calls(call("c1", "other"), text="ask"), "DONE", agent=api, subs=[bob])


@scenario(
    "ORCH-7 TRUST-12 WHO-7",
    """
    Boss LLM: {add a=1} {pass_tool}
    Boss Agent: Result from add: ERROR: ... / Result from pass_tool: ERROR: ...
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def a_pass_must_stand_alone(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('pass_tool')}", tools=[Add, Say])


@scenario(
    "ORCH-16 ORCH-18",
    """
    Boss LLM -> Bob: first
    Bob <- first
    Bob LLM: DONE one
    Bob = DONE
    Boss Bob: one
    Boss LLM: {rewind_tool n=1, content=better}
    Boss Agent (LLM) -> Bob: better
    Bob <- better
    Bob LLM: DONE one
    Bob = DONE
    Boss Bob: one
    Boss = FIXED_TURNS
    => one
    """,
    turns=5,
)
def what_is_said_in_place_of_a_message_goes_to_whom_that_went(cast: Cast) -> Task:
    subs = [cast.task("Cora", "DONE never"), cast.task("Bob", "DONE one")]
    lines = ("TO[Bob]: first", tool("rewind_tool", n=1, content="better"))
    return cast.task("Boss", *lines, tools=[RewindTool], subs=subs)


@scenario(
    "ORCH-16 ORCH-18",
    """
    Boss LLM: first
    Boss Agent: on
    Boss LLM: {pass_tool}
    Boss Agent: on
    Boss LLM: {rewind_tool n=2, content=better}
    Boss Agent (LLM): better
    Boss = FIXED_TURNS
    => better
    """,
    turns=6,
)
def a_message_that_passed_another_one_on_may_be_taken_back(cast: Cast) -> Task:
    nudge = {"handle_llm_no_tool": lambda doc: "on" if doc.content == "first" else None}
    lines = ("first", tool("pass_tool"), tool("rewind_tool", n=2, content="better"))
    return cast.task("Boss", *lines, tools=[RewindTool, PassTool], agent=nudge)
