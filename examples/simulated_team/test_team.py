"""A team survives whatever goes wrong: `pytest examples/simulated_team`.

The team orders books. Its model is a script, so that it says the same each time.
"""

from __future__ import annotations

from turnwise import App, ChatAgent, ChatAgentConfig, Task, ToolMessage
from turnwise.testing import Conversation, MockLMConfig
from turnwise.testing.plugin import Simulate

app = App("library", version="1")


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look a <title> up in the catalogue."
    title: str

    def handle(self) -> str:
        return f"{self.title}: two copies"


def librarian(text: str) -> str:
    """Return the model's answer to a message."""
    if "copies" in text:
        return "TO[User]: There are two copies. Shall I keep one for you?"
    if "yes" in text:
        return "DONE It waits for you at the desk."
    return '{"request": "look", "title": "Middlemarch"}'


@app.task
def lend() -> Task:
    agent = ChatAgent(ChatAgentConfig(name="librarian", llm=MockLMConfig(response_fn=librarian)))
    agent.enable_message(Look)
    return Task(agent, interactive=False)


def test_nobody_waits_for_a_book_in_vain(simulate: Simulate) -> None:
    report = simulate(
        app,
        [("lend", "Have you got Middlemarch?"), Conversation(task="lend", message="Is it there?", cancel=True)],
        schedules=20,
        human=lambda task, question: "yes, please",
    )
    assert 20 <= report.runs <= 40
