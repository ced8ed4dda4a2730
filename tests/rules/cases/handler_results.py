"""The use of the value that a handler returns."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say, Value
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatDocument,
    ResultTool,
    Task,
    ToolMessage,
)


class Give(ToolMessage):
    """Returns something of the kind that it is told."""

    request: str = "give"
    purpose: str = "To give something of a <kind>."
    kind: str

    def handle(self, agent: ChatAgent) -> Any:
        match self.kind:
            case "none":
                return None
            case "blank":
                return "  "
            case "number":
                return 4.5
            case "mapping":
                return {"a": [1, None]}
            case "model":
                return Point(x=1, y=2)
            case "document":
                return agent.create_agent_response("a document", content_any=[1])
            case "llm":
                return agent.create_llm_response("as the model")
            case "same":
                return Give(kind="same")
            case "add":
                return Add(a=2)
            case _:
                return Foreign(word=self.kind)


class Point(BaseModel):
    x: int
    y: int


class Foreign(ToolMessage):
    """Nobody but Bob handles it."""

    request: str = "foreign"
    purpose: str = "To go <word>."
    word: str

    def handle(self) -> str:
        return f"Bob got {self.word}"


def _giving(cast: Cast, kind: str, *more: str, **arguments: Any) -> Task:
    return cast.task("Boss", tool("give", kind=kind), *more, tools=[Give, Add], **arguments)


@scenario(
    "HANDLE-5 WHO-5",
    """
    Boss LLM: {give kind=none}
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_handler_that_returns_nothing_leaves_the_tool_unanswered(cast: Cast) -> Task:
    return _giving(cast, "none", max_stalled_steps=1)


@scenario(
    "HANDLE-5",
    """
    Boss LLM: {give kind=blank}
    Boss Agent refused: ...
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_handler_that_returns_blanks_has_no_valid_answer(cast: Cast) -> Task:
    return _giving(cast, "blank", max_stalled_steps=1)


@scenario(
    "HANDLE-7 MSG-6",
    """
    Boss LLM: {give kind=number}
    Boss Agent: 4.5
    Boss = FIXED_TURNS
    => float 4.5
    """,
    turns=2,
    return_type=float,
)
def a_number_is_text_and_value(cast: Cast) -> Task:
    return _giving(cast, "number")


@scenario(
    "HANDLE-7 TYPE-2",
    """
    Boss LLM: {give kind=mapping}
    Boss Agent: {"a": [1, null]}
    Boss = FIXED_TURNS
    => dict {'a': [1, None]}
    """,
    turns=2,
    return_type=dict,
)
def a_mapping_is_json_text_and_value(cast: Cast) -> Task:
    return _giving(cast, "mapping")


@scenario(
    "HANDLE-7",
    """
    Boss LLM: {give kind=model}
    Boss Agent: {"x":1,"y":2}
    Boss = FIXED_TURNS
    => {"x":1,"y":2}
    """,
    turns=2,
)
def a_pydantic_model_is_its_json(cast: Cast) -> Task:
    return _giving(cast, "model")


@scenario(
    "HANDLE-6",
    """
    Boss LLM: {give kind=document}
    Boss Agent: a document
    Boss = FIXED_TURNS
    => list [1]
    """,
    turns=2,
    return_type=list,
)
def a_document_is_taken_as_it_is(cast: Cast) -> Task:
    return _giving(cast, "document")


@scenario(
    "HANDLE-6 STEP-4 WHO-1",
    """
    Boss LLM: {give kind=llm}
    Boss Agent (LLM): as the model
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_handler_may_speak_as_the_model_which_then_does_not_answer(cast: Cast) -> Task:
    return _giving(cast, "llm", max_stalled_steps=1)


@scenario(
    "HANDLE-8",
    """
    Boss LLM: {give kind=add}
    Boss Agent: 3
    Boss = FIXED_TURNS
    => 3
    """,
    turns=2,
)
def a_returned_tool_is_handled_in_turn(cast: Cast) -> Task:
    return _giving(cast, "add")


@scenario(
    "HANDLE-8 HANDLE-9",
    """
    Boss LLM: {give kind=same}
    Boss Agent: + [give kind=same]
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_tool_that_returns_itself_is_not_handled_again(cast: Cast) -> Task:
    return _giving(cast, "same", max_stalled_steps=1)


@scenario(
    "HANDLE-9 TRUST-12",
    """
    Boss LLM: {give kind=far} (tools_from_agent=True)
    Boss Agent: + [foreign word=far] (tools_from_agent=True)
    Bob <- + [foreign word=far] (tools_from_agent=True)
    Bob Agent: Bob got far
    Bob = FIXED_TURNS
    Boss Bob: Bob got far
    Boss = FIXED_TURNS
    => Bob got far
    """,
    turns=3,
    shows=("tools_from_agent",),
)
def a_returned_tool_of_another_agent_is_attached_for_him(cast: Cast) -> Task:
    bob = cast.task("Bob", tools=[Foreign], single_round=True)
    return _giving(cast, "far", subs=[bob])


@scenario(
    "HANDLE-10",
    """
    Boss LLM: {add a=1} {say} {say text=so}
    Boss Agent: Result from add: 2 / Result from say: / Result from say: so
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def several_results_are_paragraphs(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('say')} {tool('say', text='so')}", tools=[Add, Say])


@scenario(
    "HANDLE-10",
    """
    Boss LLM: {value it=7} {add a=1}
    Boss Agent: Result from value: 7 / Result from add: 2
    Boss LLM: DONE on
    Boss = DONE
    => on
    """,
)
def of_several_results_only_the_texts_are_kept(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('value', it=7)} {tool('add', a=1)}", "DONE on", tools=[Value, Add])


@scenario(
    "HANDLE-11",
    """
    Boss LLM: {add a=1} {add a=2}
    Boss Agent: ERROR: Use ONE tool at a time!
    Boss LLM: {add a=3}
    Boss Agent: 4
    Boss = FIXED_TURNS
    => 4
    """,
    turns=4,
)
def an_agent_may_allow_one_tool_at_a_time(cast: Cast) -> Task:
    one = {"allow_multiple_tools": False}
    return cast.task("Boss", f"{tool('add', a=1)} {tool('add', a=2)}", tool("add", a=3), tools=[Add], agent=one)


@scenario(
    "HANDLE-11",
    """
    Boss LLM: calls c1:add a=1, c2:add a=2
    Boss Agent: results c1=ERROR: Use ONE tool at a time!, c2=ERROR: Use ONE tool at a time!
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def an_agent_may_allow_one_call_at_a_time(cast: Cast) -> Task:
    one = {"allow_multiple_tools": False, "use_functions_api": True}
    return cast.task("Boss", calls(call("c1", "add", a=1), call("c2", "add", a=2)), tools=[Add], agent=one)


@scenario(
    "HANDLE-12",
    """
    Boss LLM: {add a=1} {send_tool to=Bob, content=x}
    Boss Agent: Result from add: ERROR: Use ONE tool at a time! / Result from send_tool: ERROR: Use ONE tool at a time!
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def a_tool_that_steers_must_stand_alone(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('send_tool', to='Bob', content='x')}", tools=[Add])


@scenario(
    "HANDLE-12",
    """
    Boss LLM: {add a=1} {result_tool sum=2}
    Boss Agent: Result from add: 2 / Result from result_tool:
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def a_result_tool_may_stand_among_others(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('result_tool', sum=2)}", tools=[Add, ResultTool])


class Bag(ToolMessage):
    request: str = "bag"
    purpose: str = "To end with two tools."

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content="bagged", tools=[Foreign(word="one"), Foreign(word="two")])


@scenario(
    "ORCH-3 RESULT-4 TYPE-3",
    """
    Boss LLM: {bag}
    Boss Agent: bagged + [agent_done_tool ...] + [foreign word=one] + [foreign word=two]
    Boss = DONE
    => list [Foreign(request='foreign', ... word='one'), Foreign(request='foreign', ... word='two')]
    """,
    return_type=list[Foreign],
)
def the_tools_that_a_done_tool_carries_are_the_result(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("bag"), tools=[Bag])
    agent.enable_message(Foreign, use=False, handle=False)
    return cast.task(agent)


class Edit(ToolMessage):
    """Changes the message that it is in, and returns it if it is told to."""

    request: str = "edit"
    purpose: str = "To edit a message."
    back: bool = False

    def handle(self, chat_doc: ChatDocument) -> ChatDocument | None:
        chat_doc.content, chat_doc.metadata.recipient = "edited", "Bob"
        chat_doc.tool_messages.clear()
        return chat_doc if self.back else None


@scenario(
    "HANDLE-6 MSG-13",
    """
    Boss LLM: {edit back=true}
    Boss Agent (LLM) -> Bob: edited
    Bob <- edited
    Bob LLM: DONE heard
    Bob = DONE
    Boss Bob: heard
    Boss = FIXED_TURNS
    => heard
    """,
    turns=3,
)
def a_message_that_a_handler_changes_and_returns_is_another_one(cast: Cast) -> Task:
    return cast.task("Boss", tool("edit", back=True), tools=[Edit], subs=[cast.task("Bob", "DONE heard")])


@scenario(
    "HANDLE-6",
    """
    Boss LLM: {edit}
    Boss nobody
    Boss = FIXED_TURNS
    => {edit}
    """,
    turns=2,
)
def a_message_that_a_handler_changes_stays_as_it_was_seen(cast: Cast) -> Task:
    return cast.task("Boss", tool("edit"), tools=[Edit], subs=[cast.task("Bob", "DONE heard")])


class Rewrites(ChatAgent):
    """Changes each message that its model is to answer, and says nothing."""

    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        if isinstance(message, ChatDocument):
            message.content = f"{message.content}, please"
        return None


@scenario(
    "HANDLE-20",
    """
    Boss nobody
    Boss = FIXED_TURNS
    => go
    """,
    turns=1,
)
def a_message_that_an_own_response_changes_stays_as_it_was_seen(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "never", kind=Rewrites))
