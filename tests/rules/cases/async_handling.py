"""Handlers that are awaited."""

from __future__ import annotations

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add
from tests.rules.words import tool

from turnwise import (
    ChatAgent,
    ChatDocument,
    DoneTool,
    Task,
    ToolMessage,
)

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
