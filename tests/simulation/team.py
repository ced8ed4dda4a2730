"""The application that the simulator is turned on here: small tasks that reach every part of the services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.simulation.priced import PricedLMConfig

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    Task,
    ToolMessage,
    idempotency_key,
)
from turnwise.testing import Conversation, Outcome, Scenario, Violation

app = App("team", version="1")


class Add(ToolMessage):
    request: str = "add"
    purpose: str = "To add two numbers."
    a: int
    b: int

    def handle(self) -> str:
        return f"The sum is {self.a + self.b}"


def adding(text: str) -> str:
    """Adds up to three, one at a time."""
    if "sum is" not in text:
        return '{"request": "add", "a": 0, "b": 1}'
    total = int(text.split("sum is")[1].split()[0])
    if total < 3:
        return f'{{"request": "add", "a": {total}, "b": 1}}'
    return f"DONE {total}"


def agent(name: str, answers: object) -> ChatAgent:
    return ChatAgent(ChatAgentConfig(name=name, llm=PricedLMConfig(response_fn=answers)))  # type: ignore[arg-type]


@app.task
def sums() -> Task:
    adder = agent("adder", adding)
    adder.enable_message(Add)
    return Task(adder, interactive=False)


# What the tools have done outside, where no crash undoes it: tool and key, each time.
done: list[tuple[str, str | None]] = []


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look something up."
    _effect = "read_only"

    def handle(self) -> str:
        return "It is looked up"


class Book(ToolMessage):
    request: str = "book"
    purpose: str = "To book a seat."
    _effect = "idempotent"

    def handle(self) -> str:
        done.append(("book", idempotency_key()))
        return "It is booked"


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay."
    _effect = "once"

    def handle(self) -> str:
        done.append(("pay", idempotency_key()))
        return "It is paid"


def travelling(text: str) -> str:
    """Looks, books and pays, the last two in one message."""
    if "paid" in text:
        return "DONE have a good trip"
    if "looked" in text:
        return '{"request": "book"} {"request": "pay"} {"request": "look"}'
    return '{"request": "look"}'


@app.task
def trip() -> Task:
    traveller = agent("traveller", travelling)
    traveller.enable_message([Look, Book, Pay])
    return Task(traveller, interactive=False)


def looks_it_up(item: dict[str, Any]) -> dict[str, Any]:
    """An operator who sees in the tool's own list whether a parked call happened."""
    if (item["tool"], item["idempotency_key"]) in done:
        return {"outcome": "happened", "result": "It is paid"}
    return {"outcome": "again"}


def paid_once(outcome: Outcome) -> Iterator[Violation]:
    """Nobody pays twice, and a seat is booked under one key."""
    for (tool, key), times in Counter(done).items():
        if tool == "pay" and times > 1:
            yield Violation(promise="effects", sentence=f"pay was done {times} times under the key {key}")
    for run_id in outcome.accepted.values():
        for tool in ("book", "pay"):
            keys = {key for name, key in done if name == tool and key and key.startswith(run_id)}
            if len(keys) > 1:
                yield Violation(promise="effects", sentence=f"{tool} was done under {len(keys)} keys: {keys}")


@app.task
def delegated() -> Task:
    """A lead with a sub-task that answers it."""

    def lead(text: str) -> str:
        return "DONE it is known: " + text if "found" in text else "find out: " + text

    def helper(text: str) -> str:
        return "DONE found " + text[-5:]

    root = Task(agent("lead", lead), interactive=False)
    root.add_sub_task(Task(agent("helper", helper), interactive=False))
    return root


@app.task
def order() -> Task:
    """Asks a human, and does what the human says."""

    def asks(text: str) -> str:
        return "DONE as you wish" if "yes" in text else "TO[User]: shall I order it?"

    return Task(agent("asker", asks), interactive=False)


@app.task
def diary() -> Task:
    """Goes on in the next run of its session."""

    def writes(text: str) -> str:
        return f"DONE noted {len(text)}"

    return Task(agent("diarist", writes), interactive=False, restart=False)


scenario = Scenario(
    app=app,
    conversations=[
        Conversation(task="sums", message="go"),
        Conversation(task="sums", message="go on", cancel=True),
        Conversation(task="sums", message="be quick", limits={"deadline": 2.0}),
        Conversation(task="sums", message="be brief", limits={"max_tokens": 1300}),
        Conversation(task="sums", message="be cheap", limits={"max_cost": "1.3"}),
        Conversation(task="trip", message="to the sea"),
        Conversation(task="delegated", message="where is it?"),
        Conversation(task="order", message="a book"),
        Conversation(task="diary", message="a fine day", session_id="d"),
        Conversation(task="diary", message="a poor one", session_id="d"),
    ],
    operator=looks_it_up,
    checks=[paid_once],
    before=done.clear,
)

# The same, where all share what a tenant may spend, and the runs of a session what that may.
thrifty = replace(scenario, at_once=4, settings={"tenant_day_max_cost": "3.0", "session_max_tokens": 180})
