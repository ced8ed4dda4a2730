"""An application to talk with: it asks its human, uses tools, parks calls, and says hostile things; its model is
`talk_model`."""

from __future__ import annotations

from decimal import Decimal

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, RetryPolicy, Task, ToolMessage
from turnwise.errors import ToolOutcomeUnknownError

app = App("talk-desk")


class Fare(ToolMessage):
    request: str = "fare"
    purpose: str = "To look up the fare to a <city>."
    _effect = "read_only"
    city: str

    def handle(self) -> str:
        return f"The fare to {self.city} is 84 EUR."


class Refund(ToolMessage):
    request: str = "refund"
    purpose: str = "To pay <cents> back for a <reason>."
    cents: int
    reason: str

    def handle(self) -> dict[str, int]:
        raise ToolOutcomeUnknownError("the bank did not answer")


def _agent(role: str, *tools: type[ToolMessage]) -> ChatAgent:
    # It streams also where workers have not yet heard that the run is watched.
    llm = OpenAIGPTConfig(
        chat_model="turnwise-fake", stream=True, input_price=Decimal(1), output_price=Decimal(2), timeout=90
    )
    retry = RetryPolicy(tries=1)
    agent = ChatAgent(ChatAgentConfig(name=role, llm=llm, system_message=f"You play {role}.", retry=retry))
    agent.enable_message(list(tools))
    return agent


@app.task
def clerk() -> Task:
    """Remembers, looks fares up, speaks slowly, and fails if it is told to."""
    return Task(_agent("clerk", Fare), interactive=False, restart=False)


@app.task
def asker() -> Task:
    """Asks its human once."""
    return Task(_agent("asker"), interactive=False)


@app.task
def cashier() -> Task:
    """Pays back, and nobody knows whether it did."""
    return Task(_agent("cashier", Refund), interactive=False)


@app.task
def parrot() -> Task:
    """Asks its human with the words that it was given, and ends with them."""
    return Task(_agent("parrot"), interactive=False)
