"""How AGENT answers: which handler, what it may return, fallbacks, errors, state."""

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
    ChatDocMetaData,
    ChatDocument,
    DoneTool,
    Entity,
    NonToolAction,
    ResultTool,
    Task,
    TaskConfig,
    ToolMessage,
)


class Ask(ToolMessage):
    """Has a handler of each kind."""

    request: str = "ask"
    purpose: str = "To ask."

    def handle(self) -> str:
        return "by handle"

    def response(self, agent: ChatAgent) -> str:
        return f"by response of {agent.config.name}"


class AskResponse(ToolMessage):
    request: str = "ask"
    purpose: str = "To ask."

    def response(self, agent: ChatAgent) -> str:
        return f"by response of {agent.config.name}"


class AskElsewhere(Ask):
    _handler: str = "elsewhere"


class Answering(ChatAgent):
    def ask(self, tool: Ask) -> str:
        return f"by the agent's {tool.request}"

    def elsewhere(self, tool: Ask) -> str:
        return f"elsewhere for {tool.request}"


def _asking(cast: Cast, kind: type[ToolMessage], agent: type[ChatAgent] = ChatAgent) -> Task:
    return cast.task(cast.agent("Boss", tool("ask"), tools=[kind], kind=agent))


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by the agent's ask
    Boss = FIXED_TURNS
    => by the agent's ask
    """,
    turns=2,
)
def the_agents_method_comes_before_the_tools(cast: Cast) -> Task:
    return _asking(cast, Ask, Answering)


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by handle
    Boss = FIXED_TURNS
    => by handle
    """,
    turns=2,
)
def handle_comes_before_response(cast: Cast) -> Task:
    return _asking(cast, Ask)


@scenario(
    "HANDLE-1",
    """
    Boss LLM: {ask}
    Boss Agent: by response of Boss
    Boss = FIXED_TURNS
    => by response of Boss
    """,
    turns=2,
)
def response_comes_last(cast: Cast) -> Task:
    return _asking(cast, AskResponse)


@scenario(
    "HANDLE-2",
    """
    Boss LLM: {ask}
    Boss Agent: elsewhere for ask
    Boss = FIXED_TURNS
    => elsewhere for ask
    """,
    turns=2,
)
def a_tool_may_name_another_method(cast: Cast) -> Task:
    return _asking(cast, AskElsewhere, Answering)


class Annotated(ToolMessage):
    """The annotations say the opposite of the names."""

    request: str = "annotated"
    purpose: str = "To see what is given."

    def handle(self, agent: ChatDocument, chat_doc: ChatAgent) -> str:
        return f"{type(agent).__name__} and {type(chat_doc).__name__}"


class Named(ToolMessage):
    request: str = "named"
    purpose: str = "To see what is given."

    def handle(self, chat_doc, agent) -> str:  # type: ignore[no-untyped-def]
        return f"{type(chat_doc).__name__} and {type(agent).__name__}"


@scenario(
    "HANDLE-3",
    """
    Boss LLM: {annotated}
    Boss Agent: ChatDocument and ChatAgent
    Boss LLM: {named}
    Boss Agent: ChatDocument and ChatAgent
    Boss = FIXED_TURNS
    => ChatDocument and ChatAgent
    """,
    turns=4,
)
def handle_is_given_what_annotations_ask_for_then_names(cast: Cast) -> Task:
    return cast.task("Boss", tool("annotated"), tool("named"), tools=[Annotated, Named])


# --- async ---

_SYNC = "this way of running is not async, so it calls the plain handler"


class Slow(ToolMessage):
    request: str = "slow"
    purpose: str = "To wait."

    def handle(self) -> str:
        return "at once"

    async def handle_async(self) -> str:
        return "awaited"


class SlowAnswer(ChatAgent):
    def slow(self, _: Slow) -> str:
        return "the agent's at once"

    async def slow_async(self, _: Slow) -> str:
        return "the agent's awaited"


class SlowResponse(ToolMessage):
    request: str = "slow"
    purpose: str = "To wait."

    def response(self, agent: ChatAgent) -> str:
        return f"{agent.config.name} at once"

    async def response_async(self, agent: ChatAgent) -> str:
        return f"{agent.config.name} awaited"


class OnlyAsync(ToolMessage):
    request: str = "slow"
    purpose: str = "To wait."

    async def handle_async(self, chat_doc: ChatDocument) -> DoneTool:
        return DoneTool(content=f"after {chat_doc.metadata.sender.value}")


@scenario(
    "HANDLE-4",
    """
    Boss LLM: {slow}
    Boss Agent: awaited
    Boss = FIXED_TURNS
    => awaited
    """,
    turns=2,
    never={"run": _SYNC, "served": _SYNC},
)
def an_async_run_prefers_handle_async(cast: Cast) -> Task:
    return cast.task("Boss", tool("slow"), tools=[Slow])


@scenario(
    "HANDLE-4",
    """
    Boss LLM: {slow}
    Boss Agent: at once
    Boss = FIXED_TURNS
    => at once
    """,
    turns=2,
    never={"run_async": "an async run prefers the twin"},
)
def other_runs_call_the_plain_handler(cast: Cast) -> Task:
    return cast.task("Boss", tool("slow"), tools=[Slow])


@scenario(
    "HANDLE-4 HANDLE-1",
    """
    Boss LLM: {slow}
    Boss Agent: the agent's awaited
    Boss = FIXED_TURNS
    => the agent's awaited
    """,
    turns=2,
    never={"run": _SYNC, "served": _SYNC},
)
def the_agents_own_twin_comes_before_the_tools(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", tool("slow"), tools=[Slow], kind=SlowAnswer))


@scenario(
    "HANDLE-4",
    """
    Boss LLM: {slow}
    Boss Agent: Boss awaited
    Boss = FIXED_TURNS
    => Boss awaited
    """,
    turns=2,
    never={"run": _SYNC, "served": _SYNC},
)
def response_has_a_twin_as_well(cast: Cast) -> Task:
    return cast.task("Boss", tool("slow"), tools=[SlowResponse])


@scenario(
    "HANDLE-4 ORCH-2",
    """
    Boss LLM: {slow}
    Boss Agent: after LLM + [done_tool content=after LLM]
    Boss = DONE
    => after LLM
    """,
)
def a_handler_may_be_async_only(cast: Cast) -> Task:
    return cast.task("Boss", tool("slow"), tools=[OnlyAsync])


@scenario(
    "HANDLE-4 HANDLE-10",
    """
    Boss LLM: {slow} {add a=1}
    Boss Agent: Result from slow: awaited / Result from add: 2
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
    never={"run": _SYNC, "served": _SYNC},
)
def an_async_run_falls_back_to_a_plain_handler(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('slow')} {tool('add', a=1)}", tools=[Slow, Add])


# --- what a handler returns ---


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


# --- without a tool ---


class WithFallback(ToolMessage):
    request: str = "rare"
    purpose: str = "To be used rarely."

    @staticmethod
    def handle_message_fallback(agent: ChatAgent, msg: ChatDocument) -> str:
        return f"{agent.config.name} fell back on {msg.content}"


class WithAnother(WithFallback):
    request: str = "rarer"

    @staticmethod
    def handle_message_fallback(agent: ChatAgent, msg: ChatDocument) -> str:
        return "the last one"


class Falling(ChatAgent):
    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        sender = msg.metadata.sender.value if isinstance(msg, ChatDocument) else ""
        return {"own fallback for": sender}


@scenario(
    "HANDLE-13 HANDLE-20",
    """
    Boss Agent: {"own fallback for": "User"}
    Boss LLM: hm
    Boss Agent: {"own fallback for": "LLM"}
    Boss = FIXED_TURNS
    => dict {'own fallback for': 'LLM'}
    """,
    turns=3,
    return_type=dict,
)
def an_agent_may_have_its_own_fallback_for_anybodys_message(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "hm", kind=Falling))


@scenario(
    "HANDLE-13",
    """
    Boss Agent: Boss fell back on go
    Boss = FIXED_TURNS
    => Boss fell back on go
    """,
    turns=1,
)
def a_tools_fallback_replaces_the_agents(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "never asked", kind=Falling, tools=[WithFallback]))


@scenario(
    "HANDLE-13",
    """
    Boss Agent: the last one
    Boss = FIXED_TURNS
    => the last one
    """,
    turns=1,
)
def the_fallback_enabled_last_wins(cast: Cast) -> Task:
    return cast.task("Boss", "never asked", tools=[WithFallback, WithAnother])


@scenario(
    "HANDLE-14 HANDLE-16",
    """
    Boss LLM: hm
    Boss Agent: use a tool
    Boss LLM: {unknown}
    Boss Agent: use a tool
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss = FIXED_TURNS
    => 2
    """,
    turns=6,
)
def a_text_reminds_the_model_of_its_tools(cast: Cast) -> Task:
    reminding = {"handle_llm_no_tool": "use a tool"}
    return cast.task("Boss", "hm", tool("unknown"), tool("add", a=1), tools=[Add], agent=reminding)


@scenario(
    "HANDLE-14",
    """
    Boss LLM: calls c1:other
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_call_is_a_tool_for_the_fallback(cast: Cast) -> Task:
    reminding = {"handle_llm_no_tool": "use a tool", "use_functions_api": True}
    return cast.task("Boss", calls(call("c1", "other")), agent=reminding, max_stalled_steps=1)


@scenario(
    "HANDLE-15 WHO-6",
    """
    Boss LLM: shall I?
    Boss Agent -> User: shall I?
    Boss User: yes
    Boss LLM: DONE then I did
    Boss = DONE
    => then I did
    """,
    answers=("yes",),
)
def a_text_may_be_forwarded_to_the_human(cast: Cast) -> Task:
    return cast.task("Boss", "shall I?", "DONE then I did", agent={"handle_llm_no_tool": NonToolAction.FORWARD_USER})


@scenario(
    "HANDLE-15",
    """
    Boss LLM: that is it
    Boss Agent: that is it + [agent_done_tool content=that is it, tools=[]]
    Boss = DONE
    => that is it
    """,
)
def a_text_may_end_the_task(cast: Cast) -> Task:
    return cast.task("Boss", "that is it", agent={"handle_llm_no_tool": "done"})


@scenario(
    "HANDLE-16 ORCH-3",
    """
    Boss LLM: 41
    Boss Agent: 42 + [agent_done_tool content=42, tools=[]]
    Boss = DONE
    => int 42
    """,
    return_type=int,
)
def a_function_may_answer_a_text(cast: Cast) -> Task:
    def finish(doc: ChatDocument) -> AgentDoneTool:
        return AgentDoneTool(content=int(doc.content) + 1)

    return cast.task("Boss", "41", agent={"handle_llm_no_tool": finish})


@scenario(
    "HANDLE-16 HANDLE-8",
    """
    Boss LLM: hm
    Boss Agent: 10
    Boss = FIXED_TURNS
    => 10
    """,
    turns=2,
)
def a_tool_may_be_the_answer_to_a_text_and_is_handled(cast: Cast) -> Task:
    return cast.task("Boss", "hm", tools=[Add], agent={"handle_llm_no_tool": Add(a=9)})


class Long(ToolMessage):
    request: str = "long"
    purpose: str = "To get a long text."
    _max_result_tokens: int = 5

    def handle(self) -> str:
        return "0123456789" * 20


@scenario(
    "HANDLE-17",
    """
    Boss LLM: {long}
    Boss Agent: 01234567890123456 / [truncated: 183 more characters]
    Boss = FIXED_TURNS
    => ...
    """,
    turns=2,
)
def a_long_result_is_cut(cast: Cast) -> Task:
    return cast.task("Boss", tool("long"), tools=[Long])


# --- errors ---


class Broken(ToolMessage):
    request: str = "broken"
    purpose: str = "To fail."

    def handle(self) -> str:
        raise LookupError("nothing there")


@scenario(
    "HANDLE-18 ERR-1",
    """
    Boss LLM: {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_of_a_handler_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", tool("broken"), tools=[Broken])


@scenario(
    "HANDLE-18 ERR-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_in_a_sub_task_ends_the_whole_run(cast: Cast) -> Task:
    bob = cast.task("Bob", tool("broken"), tools=[Broken])
    return cast.task("Boss", "ask", subs=[bob])


@scenario(
    "HANDLE-18 HANDLE-10",
    """
    Boss LLM: {add a=1} {broken}
    => raises LookupError: nothing there
    """,
)
def an_error_of_one_of_several_handlers_is_not_swallowed(cast: Cast) -> Task:
    return cast.task("Boss", f"{tool('add', a=1)} {tool('broken')}", tools=[Add, Broken])


def _failing(_: str) -> str:
    raise ConnectionError("no model there")


@scenario(
    "ERR-3",
    """
    => raises ConnectionError: no model there
    """,
)
def a_model_that_fails_ends_the_run(cast: Cast) -> Task:
    return cast.task("Boss", _failing)


# --- state and overrides ---


class Tally(BaseModel):
    total: int = 0
    seen: list[str] = []


class Count(ToolMessage):
    request: str = "count"
    purpose: str = "To count <n>."
    n: int = 1


class Counting(ChatAgent):
    State = Tally
    state: Tally

    def count(self, tool: Count) -> str:
        self.state.total += tool.n
        self.state.seen.append(str(tool.n))
        return f"{self.state.total} of {'+'.join(self.state.seen)}"


@scenario(
    "HANDLE-19",
    """
    Boss LLM: {count n=2}
    Boss Agent: 2 of 2
    Boss LLM: {count n=3}
    Boss Agent: 5 of 2+3
    Boss LLM: {count n=4} {count n=5}
    Boss Agent: Result from count: 9 of 2+3+4 / Result from count: 14 of 2+3+4+5
    Boss = FIXED_TURNS
    => ...
    """,
    turns=6,
)
def a_state_lasts_between_turns(cast: Cast) -> Task:
    lines = tool("count", n=2), tool("count", n=3), f"{tool('count', n=4)} {tool('count', n=5)}"
    return cast.task(cast.agent("Boss", *lines, kind=Counting, tools=[Count]))


@scenario(
    "HANDLE-19 HIST-1",
    """
    Boss LLM: {count n=2}
    Boss Agent: 2 of 2
    Boss = FIXED_TURNS
    => 2 of 2
    Boss LLM: {count n=2}
    Boss Agent: 2 of 2
    Boss = FIXED_TURNS
    => 2 of 2
    """,
    turns=2,
    says=["go", "again"],
)
def a_state_begins_afresh_with_each_run(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", tool("count", n=2), kind=Counting, tools=[Count]))


@scenario(
    "HANDLE-19 HIST-3",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {count}
    Bob Agent: 1 of 1
    Bob = FIXED_TURNS
    Boss Bob: 1 of 1
    Boss LLM: second
    Bob <- second
    Bob LLM: {count}
    Bob Agent: 2 of 1+1
    Bob = FIXED_TURNS
    Boss Bob: 2 of 1+1
    Boss = FIXED_TURNS
    => 2 of 1+1
    """,
    turns=4,
)
def a_sub_tasks_state_lasts_from_call_to_call(cast: Cast) -> Task:
    bob = cast.agent("Bob", lambda _: tool("count"), kind=Counting, tools=[Count])
    sub = cast.task(bob, single_round=True, llm_delegate=True)
    return cast.task("Boss", "first", "second", subs=[sub])


@scenario(
    "HANDLE-19 HIST-4",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {count}
    Bob Agent: 1 of 1
    Bob = FIXED_TURNS
    Boss Bob: 1 of 1
    Boss LLM: second
    Bob <- second
    Bob LLM: {count}
    Bob Agent: 1 of 1
    Bob = FIXED_TURNS
    Boss Bob: 1 of 1
    Boss = FIXED_TURNS
    => 1 of 1
    """,
    turns=4,
)
def a_state_goes_with_restart_as_subtask(cast: Cast) -> Task:
    bob = cast.agent("Bob", lambda _: tool("count"), kind=Counting, tools=[Count])
    sub = cast.task(bob, single_round=True, llm_delegate=True, config=TaskConfig(restart_as_subtask=True))
    return cast.task("Boss", "first", "second", subs=[sub])


class Plain(ChatAgent):
    """Answers for itself, with plain values."""

    def agent_response(self, msg: Any = None) -> Any:
        return {"heard": msg.content} if isinstance(msg, ChatDocument) and msg.content == "go" else None

    def llm_response(self, message: Any = None) -> Any:
        return "DONE said without a model" if isinstance(message, ChatDocument) else None


@scenario(
    "HANDLE-20",
    """
    Boss Agent: {'heard': 'go'}
    Boss LLM: DONE said without a model
    Boss = DONE
    => said without a model
    """,
)
def responses_may_be_overridden_and_return_plain_values(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "never asked", kind=Plain))


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


def _speak(doc: ChatDocument) -> ChatDocument:
    return ChatDocument(
        content=f"I, {doc.metadata.sender.value}, block myself",
        metadata=ChatDocMetaData(sender=Entity.AGENT, block=Entity.LLM),
    )


@scenario(
    "WHO-4",
    """
    Boss LLM: hm
    Boss Agent: I, LLM, block myself
    Bob <- I, LLM, block myself
    Bob nobody
    Bob = STALLED
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_entity_that_a_message_blocks_does_not_answer_it(cast: Cast) -> Task:
    bob = cast.task("Bob", "never asked", max_stalled_steps=1)
    return cast.task("Boss", "hm", agent={"handle_llm_no_tool": _speak}, subs=[bob], max_stalled_steps=1)
