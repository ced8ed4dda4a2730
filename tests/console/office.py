"""The application that the console is tested and photographed with: the desk of a shop, and the script of its models.

Each model answers by its role, and by how often it has spoken; a word of the first message leads into each case.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    DoneTool,
    OpenAIGPTConfig,
    RetryPolicy,
    SendTool,
    Task,
    ToolMessage,
)
from turnwise.errors import ToolOutcomeUnknownError
from turnwise.messages.tool_message import ToolEffect
from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.request import ChatRequest, text_of

ORDERS = {
    4711: "a kettle, 39.90 USD, delivered 2 days ago",
    4712: "two lamps, 118.00 USD, delivered a week ago",
    4713: "a desk chair, 240.00 USD, delivered yesterday",
}
# Seconds that a slow answer takes: longer than any test.
ENDLESS = 3_600.0

app = App("shop-desk", version="3")


def _model(name: str, input_price: str, output_price: str) -> OpenAIGPTConfig:
    """Settings of a model; OPENAI_BASE_URL says where it is."""
    return OpenAIGPTConfig(
        chat_model=name, input_price=Decimal(input_price), output_price=Decimal(output_price), timeout=ENDLESS
    )


def _agent(name: str, instructions: str, model: str = "helper-large", **more: Any) -> ChatAgent:
    prices = {"helper-large": ("12", "48"), "helper-small": ("2", "8")}[model]
    config = ChatAgentConfig(
        name=name,
        llm=_model(model, *prices),
        system_message=f"You are {name}. {instructions}",
        retry=RetryPolicy(tries=1),
        **more,
    )
    return ChatAgent(config)


class FindOrder(ToolMessage):
    request: str = "find_order"
    purpose: str = "To look up the order with that <number>."
    number: int
    _effect: ToolEffect = "read_only"

    def handle(self) -> str:
        found = ORDERS.get(self.number)
        return f"Order {self.number}: {found}." if found else f"There is no order {self.number}."


class Refund(ToolMessage):
    request: str = "refund"
    purpose: str = "To pay back the <amount> of the order with that <number>."
    number: int
    amount: str
    _effect: ToolEffect = "once"

    def handle(self) -> str:
        if self.number == 4712:
            raise ToolOutcomeUnknownError("the bank closed the connection before it answered")
        return f"Paid back {self.amount} USD for order {self.number}, reference R-{self.number}."


class FindPage(ToolMessage):
    request: str = "find_page"
    purpose: str = "To find the page of the handbook about a <topic>."
    topic: str
    _effect: ToolEffect = "read_only"

    def handle(self) -> str:
        return f"Handbook, page 12, on {self.topic}: descale with citric acid, 20 g to a litre, then rinse twice."


@app.task
def support() -> Task:
    """A customer's message: looks up the order, and has Billing pay money back once a person agrees."""
    desk = _agent("Desk", "Solve the customer's problem.")
    desk.enable_message([FindOrder, SendTool, DoneTool])
    billing = _agent("Billing", "Pay money back, but ask a person first.", "helper-small")
    billing.enable_message([Refund, SendTool, DoneTool])
    task = Task(desk, interactive=False)
    task.add_sub_task(Task(billing, interactive=False))
    return task


@app.task
def handbook() -> Task:
    """A question about a product: an editor asks a researcher, who reads the handbook."""
    editor = _agent("Editor", "Answer from the handbook only.")
    editor.enable_message([SendTool, DoneTool])
    researcher = _agent("Researcher", "Find the page, and quote it.", "helper-small")
    researcher.enable_message([FindPage, DoneTool])
    task = Task(editor, interactive=False)
    task.add_sub_task(Task(researcher, interactive=False))
    return task


@app.task
def newsletter() -> Task:
    """A long text, written word by word."""
    return Task(_agent("Writer", "Write the newsletter."), interactive=False)


@app.task
def concierge() -> Task:
    """A conversation: every answer waits for the next message of its human."""
    agent = _agent("Concierge", "Help with whatever the customer asks.")
    agent.enable_message([FindOrder])
    return Task(agent, interactive=True)


def _tool(request: str, **fields: Any) -> str:
    return json.dumps({"request": request, **fields})


def answer(request: ChatRequest) -> Answer:
    """The next answer of the model of an agent."""
    role = re.search(r"You are (\w+)\.", request.system)
    assert role is not None, request.system[:80]
    spoken = sum(message.get("role") == "assistant" for message in request.messages)
    first = next(text_of(one) for one in request.messages if one.get("role") == "user")
    said = _LINES[role[1]](first, request.last, spoken)
    return said if isinstance(said, Answer) else Answer(content=said)


def _desk(first: str, last: str, spoken: int) -> str | Answer:
    if "unreadable" in first:
        return Answer(
            fault=ScriptedFault(status=400, message="the request holds a picture, which this model cannot read")
        )
    number = int(found[0]) if (found := re.findall(r"\d{4}", first)) else 0
    if "guess" in first and spoken == 0:
        return "I look it up. " + _tool("find_order", number="the chair")
    if spoken == 0 or ("guess" in first and spoken == 1):
        return "I look the order up first. " + _tool("find_order", number=number)
    if "DONE" in last or "Nothing is paid" in last or "Paid back" in last:
        return _tool("done_tool", content=f"About your order {number}: {last.removeprefix('DONE ')}")
    if "refund" in first and number in ORDERS:
        amount = re.search(r"([\d.]+) USD", ORDERS[number])
        assert amount is not None
        return _tool(
            "send_tool", to="Billing", content=f"Refund {amount[1]} USD for order {number}: it arrived damaged."
        )
    return _tool("done_tool", content=f"Your order is on record. {last}")


def _billing(first: str, last: str, spoken: int) -> str:
    found = re.search(r"Refund ([\d.]+) USD for order (\d+)", first)
    assert found is not None, first
    if spoken == 0 and found[2] == "4711":
        return _tool(
            "send_tool", to="User", content=f"May I pay back {found[1]} USD for order {found[2]}? It arrived damaged."
        )
    if "Paid back" in last or last.strip().lower().startswith("no"):
        return _tool("done_tool", content=last if "Paid back" in last else "Nothing is paid back.")
    return "Now the refund. " + _tool("refund", number=int(found[2]), amount=found[1])


def _editor(first: str, last: str, spoken: int) -> str:
    if spoken == 0:
        return _tool("send_tool", to="Researcher", content=f"Which page answers this? {first}")
    return _tool("done_tool", content=f"The handbook says: {last}")


def _researcher(first: str, last: str, spoken: int) -> str:
    if spoken == 0:
        return "I look for it. " + _tool("find_page", topic="the care of kettles")
    return _tool("done_tool", content=last)


def _writer(first: str, last: str, spoken: int) -> Answer:
    words = (
        "A warm kitchen begins with a kettle that does not drip. This month we look at "
        + "lamps, chairs and desks, " * 12
    )
    return Answer(
        content=f"DONE {words}and wish you a quiet winter.", delay=ENDLESS if "slow" in first else 0, pace=0.05
    )


def _concierge(first: str, last: str, spoken: int) -> str:
    if found := re.search(r"order (\d{4})", last):
        return "One moment. " + _tool("find_order", number=int(found[1]))
    if last.startswith(("Order ", "There is no order")):
        return f"I found it. {last} Is there anything else?"
    return f"You said: {last[:400]} Shall I look up an order for you?"


_LINES: dict[str, Any] = {
    "Desk": _desk,
    "Billing": _billing,
    "Editor": _editor,
    "Researcher": _researcher,
    "Writer": _writer,
    "Concierge": _concierge,
}
