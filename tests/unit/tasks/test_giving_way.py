"""A run in an event loop lets other coroutines go on, even if its models and handlers never wait."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, StatusCode, Task, ToolMessage

MOST_TURNS = 10


class Next(ToolMessage):
    request: str = "next"

    def handle(self) -> str:
        return "on"


class Endless:
    """A task whose model and tool answer at once, for ever."""

    def __init__(self) -> None:
        self.turns = 0
        self.fiftieth = asyncio.Event()

        def answer(_: str) -> str:
            self.turns += 2  # the model's, and the tool's before it
            assert self.turns < 10_000, "no one else was let in"
            if self.turns == 50:
                self.fiftieth.set()
            return f'{{"request": "next", "id": "{self.turns}"}}'

        agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=answer)))
        agent.enable_message(Next)
        self.task = Task(agent, interactive=False)


async def _beside(other: Coroutine[Any, Any, None], *runs: Endless) -> list[ChatDocument | None]:
    """Return the runs' results, with another coroutine in the same event loop."""
    *results, _ = await asyncio.gather(*(run.task.run_async("begin") for run in runs), other)
    return results


def test_a_kill_by_another_coroutine_is_seen_within_ten_turns() -> None:
    endless = Endless()

    async def killer() -> None:
        await endless.fiftieth.wait()
        endless.task.kill()

    result = asyncio.run(_beside(killer(), endless))[0]
    assert result is not None
    assert result.metadata.status is StatusCode.KILL
    assert 50 <= endless.turns <= 50 + MOST_TURNS


def test_others_run_at_least_every_ten_turns_and_not_at_each() -> None:
    endless, seen = Endless(), [0]

    async def watcher() -> None:
        while endless.turns < 500:
            await asyncio.sleep(0)
            seen.append(endless.turns)
        endless.task.kill()

    asyncio.run(_beside(watcher(), endless))
    gaps = [later - earlier for earlier, later in itertools.pairwise(seen)]
    assert max(gaps) <= MOST_TURNS
    # To look around costs as much as a tenth of a turn.
    assert len(gaps) < endless.turns / 3


def test_two_runs_take_turns() -> None:
    one, other = Endless(), Endless()

    async def until_both_are_far() -> None:
        # One may be ahead for good: on a busy machine a turn takes longer, and who was slow gives way earlier.
        while min(one.turns, other.turns) < 100:
            before = one.turns, other.turns
            await asyncio.sleep(0)
            assert max(one.turns - before[0], other.turns - before[1]) <= MOST_TURNS
        one.task.kill()
        other.task.kill()

    asyncio.run(_beside(until_both_are_far(), one, other))
