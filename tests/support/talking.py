"""An application with one task, whose model talks with itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task


def agent_named(name: str, **config: Any) -> ChatAgent:
    """An agent of that name."""
    return ChatAgent(ChatAgentConfig(name=name, **config))


def app_of(task: Callable[[], Task]) -> App:
    """An application with the task as `desk`."""
    app = App("tests")
    app.task(name="desk")(task)
    return app


def talk() -> Task:
    """A task whose model is asked twice."""
    model = MockLMConfig(response_fn=lambda said: "DONE well" if said == "go" else "well")
    return Task(agent_named("desk", llm=model, handle_llm_no_tool="go"), interactive=False)
