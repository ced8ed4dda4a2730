"""The conversation that is measured: a model that calls a tool until it has counted far enough.

The first message says how far. The model is scripted and has no memory: it reads the tool's last result, so that it
says the same in every way of running.
"""

from __future__ import annotations

import re

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


def _model(text: str) -> str:
    found = _SEEN.search(text)
    n, limit = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    return "DONE" if n >= limit else f'{{"request": "count", "n": {n + 1}, "limit": {limit}}}'


@app.task
def loop() -> Task:
    """A model and its tool, no human."""
    agent = ChatAgent(ChatAgentConfig(name="loop", llm=MockLMConfig(response_fn=_model)))
    agent.enable_message(CountTool)
    return Task(agent, interactive=False)


def first_message(turns: int) -> str:
    """The message that makes a conversation of `turns` answers (an even number is one more)."""
    return f"0 of {turns // 2}"


def turns_of(turns: int) -> int:
    """How many answers are taken in it: two for each count, and the last word."""
    return turns // 2 * 2 + 1
