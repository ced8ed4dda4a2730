"""AGENT's answers to a message without a tool."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    NonToolAction,
    Task,
    ToolMessage,
)


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
