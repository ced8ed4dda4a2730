"""State of agents, and answers that they override."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Value
from tests.rules.words import tool

from turnwise import (
    ChatAgent,
    ChatDocument,
    DoneTool,
    Entity,
    Task,
    TaskConfig,
    ToolMessage,
)


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
    Boss Agent: {"heard": "go"}
    Boss LLM: DONE said without a model
    Boss = DONE
    => said without a model
    """,
)
def responses_may_be_overridden_and_return_plain_values(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "never asked", kind=Plain))


class Point(BaseModel):
    x: int


class Own(Counting):
    """Answers as AGENT and as LLM with what is no message."""

    def agent_response(self, msg: Any = None) -> Any:
        if not isinstance(msg, ChatDocument) or msg.metadata.sender != Entity.LLM:
            return None
        return DoneTool(content=7) if msg.content else super().agent_response(msg)

    def llm_response(self, message: Any = None) -> Any:
        if isinstance(message, ChatDocument) and message.content == "go":
            return Count()
        return Point(x=3)


@scenario(
    "HANDLE-20 WHO-9 ORCH-2",
    """
    Boss LLM: + [count n=1]
    Boss Agent: 1 of 1
    Boss LLM: {"x":3}
    Boss Agent: + [done_tool content=7]
    Boss = DONE
    => 7
    """,
)
def tools_and_models_that_overrides_return_are_what_handlers_may_return(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", kind=Own, tools=[Count]))


class Listening(ChatAgent):
    """Answers as LLM without a model, also to a message that holds nothing but tools."""

    def llm_response(self, message: Any = None) -> Any:
        assert isinstance(message, ChatDocument)
        return f"DONE {message.content or [tool.request for tool in message.tool_messages]}"


@scenario(
    "WHO-9",
    """
    Boss LLM: DONE ['value']
    Boss = DONE
    => ['value']
    """,
    says=(Value(it=1),),
)
def an_own_llm_response_is_asked_of_tools_alone(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", kind=Listening))
