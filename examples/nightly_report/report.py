"""A nightly report: a schedule starts it, code adds the figures up, a model words it, and a webhook delivers it.

Served, on this machine:

    cd examples/nightly_report
    TURNWISE_WEBHOOK_ALLOW_HTTP=true TURNWISE_WEBHOOK_ALLOWED_NETWORKS='["127.0.0.0/8"]' turnwise up --app report:app
    python receiver.py                      # in another terminal: makes the webhook, and prints what it gets
    turnwise schedules list                 # in a third one
    turnwise schedules trigger nightly      # or wait until two o'clock in Berlin

With OPENAI_API_KEY set where the server runs, a real model words the report.
"""

from __future__ import annotations

import csv
import os
from decimal import Decimal
from pathlib import Path

from turnwise import (
    AgentDoneTool,
    App,
    ChatAgent,
    ChatAgentConfig,
    LLMConfig,
    MockLMConfig,
    OpenAIGPTConfig,
    Task,
    ToolMessage,
)

SALES = Path(__file__).parent / "sales.csv"
SYSTEM_MESSAGE = "You write the report of the day for a shop: get the figures first, then send two sentences."

app = App("reports")


class DayFigures(ToolMessage):
    request: str = "day_figures"
    purpose: str = "To get the sales of the day, added up."
    _effect = "read_only"

    def handle(self) -> str:
        with SALES.open(newline="") as file:
            rows = [(row["article"], int(row["pieces"]), Decimal(row["price"])) for row in csv.DictReader(file)]
        total = sum((pieces * price for _, pieces, price in rows), Decimal())
        best = max(rows, key=lambda row: row[1] * row[2])
        return f"FIGURES total {total} EUR in {len(rows)} sales; the best: {best[1]} x {best[0]}"


class SendReport(ToolMessage):
    request: str = "send_report"
    purpose: str = "To end with the <text> of the report."
    text: str

    def handle(self) -> AgentDoneTool:
        # The run's result; the webhook brings it to whoever has subscribed.
        return AgentDoneTool(content=self.text)


def scripted_model(message: str) -> str:
    """Stands in for a real model."""
    if message.startswith("FIGURES "):
        return SendReport(text=f"Good evening. Today's {message.removeprefix('FIGURES ')}.").to_json()
    return DayFigures().to_json()


# Right after a coordinator was away at two o'clock, the report is made once (`catch_up` is "last" by default).
@app.schedule(name="nightly", message="Write the report of the day.", cron="0 2 * * *", timezone="Europe/Berlin")
@app.task
def report() -> Task:
    llm: LLMConfig = MockLMConfig(response_fn=scripted_model)
    if os.environ.get("OPENAI_API_KEY"):
        llm = OpenAIGPTConfig()
    agent = ChatAgent(ChatAgentConfig(name="Reporter", llm=llm, system_message=SYSTEM_MESSAGE))
    agent.enable_message([DayFigures, SendReport])
    return Task(agent, interactive=False)
