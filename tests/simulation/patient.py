"""The application whose calls wait for batches of their provider, for the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random

from pydantic import SecretStr

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task, TaskConfig
from turnwise.testing import Conversation, Faults, Outcome, Scenario, SimulatedProvider, Violation

app = App("patient", version="1")
# Simulated seconds: longer than any trouble takes, and than the lease of a batch is waited for.
_PATIENCE = 300.0
# USD for a million tokens.
_PRICE = Decimal(100)


def _answer(text: str) -> str:
    if "found" in text:
        return "DONE it is known: " + text[-40:]
    return "DONE found " + text[-5:] if "where" in text else "DONE dear " + text[-5:]


def _agent(name: str, price: Decimal | None) -> ChatAgent:
    llm = OpenAIGPTConfig(
        chat_model="patient",
        api_base="https://provider.example/v1",
        api_key=SecretStr("a key"),
        max_output_tokens=12,
        input_price=price,
        output_price=price,
    )
    return ChatAgent(ChatAgentConfig(name=name, llm=llm))


@app.task
def letter() -> Task:
    return Task(_agent("writer", _PRICE), interactive=False, config=TaskConfig(can_wait=_PATIENCE))


@app.task
def hasty() -> Task:
    """Is often called directly, because its time is over before the batch has ended; so it has no price."""
    return Task(_agent("hasty", None), interactive=False, config=TaskConfig(can_wait=4.0))


def _faults(random: Random) -> Faults:
    """Kills around commits and requests to the provider, and commits without an answer.

    No process is frozen: one that was taken for dead may submit a batch again, which it cancels then.
    """
    kind = random.random()
    if kind < 0.4:
        return Faults(kill_at_provider=random.choice((0.2, 0.5)), kill_after_commit=0.01, most=6, until=25.0)
    if kind < 0.6:  # few, so that some are left when a batch ends
        return Faults(kill_before_commit=0.02, kill_after_commit=0.02, most=6, until=25.0)
    return Faults(
        kill_before_commit=random.choice((0.05, 0.1)),
        kill_after_commit=random.choice((0.05, 0.1)),
        commit_lost=random.choice((0.0, 0.04)),
        answer_lost=random.choice((0.0, 0.04)),
        database_away=random.choice((0.0, 0.04)),
        message_lost=random.choice((0.0, 0.4)),
        most=random.choice((2, 6, 12)),
        until=random.choice((4.0, 10.0)),
    )


def at_half_the_price(outcome: Outcome) -> Iterator[Violation]:
    """A letter is answered by a batch, at half the price, whatever went wrong."""
    for run in outcome.history.runs.values():
        for reply in outcome.history.of_run("replies", run["id"]) if run["task"] == "letter" else ():
            usage = reply["usage"] or {}
            half = (usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)) * _PRICE / 2_000_000
            if reply["accepted"] and reply["cost"] != half:
                text = f"a reply of {run['id']} costs {reply['cost']} USD; from a batch it costs {half}"
                yield Violation(promise="half the price", sentence=text, run=run["id"])


scenario = Scenario(
    app=app,
    conversations=[
        Conversation(task="letter", message="Ada"),
        Conversation(task="letter", message="Bob", limits={"max_cost": "5"}),
        Conversation(task="letter", message="Cleo", cancel=True),
        Conversation(task="hasty", message="Dan"),
    ],
    at_once=4,
    faults=_faults,
    checks=[at_half_the_price],
    settings={"provider_batch_size": 2, "provider_batch_seconds": 1.0, "provider_batch_poll_seconds": 0.5},
    provider=SimulatedProvider(_answer),
)
