"""The conversation that is measured: a model that calls a tool until it has counted far enough.

The first message says how far. The model is scripted and has no memory: it reads the tool's last result, so that it
says the same in every way of running.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage

app = App("bench", version="1")
_SEEN = re.compile(r"(\d+) of (\d+)")


class CountTool(ToolMessage):
    """Counts one further."""

    request: str = "count"
    purpose: str = "To count from <n> to <limit>."
    n: int
    limit: int

    def handle(self) -> str:
        """How far it is."""
        return f"{self.n} of {self.limit}"


def said(text: str) -> str:
    found = _SEEN.search(text)
    n, limit = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    return "DONE" if n >= limit else f'{{"request": "count", "n": {n + 1}, "limit": {limit}}}'


def loop(*, seen: Callable[[], None] | None = None, patient: bool = False) -> Task:
    """A model and its tool, no human. `seen` is called at each answer; a `patient` model lets others go first."""

    def answer(text: str) -> str:
        if seen is not None:
            seen()
        return said(text)

    async def after_others(text: str) -> str:
        await asyncio.sleep(0)
        return said(text)

    llm = MockLMConfig(response_fn=answer, response_fn_async=after_others if patient else None)
    agent = ChatAgent(ChatAgentConfig(name="loop", llm=llm))
    agent.enable_message(CountTool)
    return Task(agent, interactive=False)


@app.task(name="loop")
def served_loop() -> Task:
    """The loop as a task of the application."""
    return loop()


def first_message(turns: int) -> str:
    """The message that makes a conversation of `turns` answers (an even number is one more)."""
    return f"0 of {turns // 2}"


def turns_of(turns: int) -> int:
    """How many answers are taken in it: two for each count, and the last word."""
    return turns // 2 * 2 + 1
