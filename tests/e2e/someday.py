"""An application whose runs may say that they can wait; processes load it as `tests.e2e.someday:app`."""

from __future__ import annotations

from tests.e2e.agents import config

from turnwise import App, ChatAgent, Task

app = App("someday")


@app.task
def letter() -> Task:
    return Task(ChatAgent(config("letter")), interactive=False)
