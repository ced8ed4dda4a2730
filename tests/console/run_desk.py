"""An application whose runs get into every state that the page of a run shows; its model is `run_model`."""

from __future__ import annotations

import os
from decimal import Decimal

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, RetryPolicy, Task, ToolMessage
from turnwise.errors import ToolOutcomeUnknownError

# Where its model is: it is served beside other applications, which have models of their own.
MODEL_AT = "RUN_DESK_MODEL"
app = App("run-desk")


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look up an <order> of a <customer>."
    _effect = "read_only"
    order: int
    customer: dict[str, str]

    def handle(self) -> str:
        return f"Order {self.order}: two herons, paid."


class Refund(ToolMessage):
    request: str = "refund"
    purpose: str = "To pay <cents> back."
    cents: int

    def handle(self) -> str:
        raise ToolOutcomeUnknownError("the bank did not answer")


def _agent(role: str, *tools: type[ToolMessage]) -> ChatAgent:
    # It streams also where workers have not yet heard that the run is watched.
    llm = OpenAIGPTConfig(
        chat_model="turnwise-fake",
        api_base=os.environ.get(MODEL_AT),
        stream=True,
        input_price=Decimal(1),
        output_price=Decimal(2),
        timeout=90,
    )
    retry = RetryPolicy(tries=1)
    agent = ChatAgent(ChatAgentConfig(name=role, llm=llm, system_message=f"You play {role}.", retry=retry))
    agent.enable_message(list(tools))
    return agent


@app.task
def desk() -> Task:
    """Looks orders up, and has a sub-task write."""
    lead = Task(_agent("lead", Look), interactive=False)
    lead.add_sub_task(Task(_agent("writer"), interactive=False))
    return lead


@app.task
def asker() -> Task:
    """Asks its human."""
    return Task(_agent("asker"), interactive=False)


@app.task
def cashier() -> Task:
    """Pays back, and nobody knows whether it did."""
    return Task(_agent("cashier", Refund), interactive=False)


@app.task
def doubter() -> Task:
    """Does not know, and has a sub-task that does."""
    task = Task(_agent("doubter"), interactive=False)
    task.add_sub_task(Task(_agent("writer"), interactive=False))
    return task


@app.task
def broken() -> Task:
    """Has a model that fails as often as the test says."""
    return Task(_agent("broken"), interactive=False)


@app.task
def talker() -> Task:
    """Says what the message names, slowly."""
    return Task(_agent("talker"), interactive=False)
