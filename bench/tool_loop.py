"""The conversation of `bench.counting` as a task: a scripted model, and a tool that it calls until it is through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bench.counting import counted, said
from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage

app = App("bench", version="1")


class CountTool(ToolMessage):
    """Counts one further."""

    request: str = "count"
    purpose: str = "To count from <n> to <limit>."
    n: int
    limit: int

    def handle(self) -> str:
        """Return the progress."""
        return counted(self.n, self.limit)


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
