"""An application with one task, `desk`, whose model notes one number after the other with a tool."""

from __future__ import annotations

from collections.abc import Callable

from turnwise import App, ChatAgent, ChatAgentConfig, LLMConfig, MockLMConfig, Task, ToolMessage

# By the number of a note: a function of the test that is called once, while that note is handled.
meanwhile: dict[int, Callable[[], object]] = {}


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note something down."
    n: int = 0

    def handle(self) -> str:
        meanwhile.pop(self.n, lambda: None)()
        return f"{self.n} noted"


def up_to(last: int) -> Callable[[str], str]:
    """A model that is done once the last number is noted."""

    def says(text: str) -> str:
        n = int(text.split()[0]) if text.endswith("noted") else 0
        return "DONE" if n == last else f'{{"request": "note", "n": {n + 1}}}'

    return says


to_three = up_to(3)


def noting(says: Callable[[str], str] = to_three, *, llm: LLMConfig | None = None, version: str = "1") -> App:
    """The application; `llm` in place of what the model `says`."""
    app = App("tests", version=version)

    @app.task
    def desk() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=llm or MockLMConfig(response_fn=says)))
        agent.enable_message(Note)
        return Task(agent, interactive=False)

    return app
