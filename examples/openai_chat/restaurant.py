"""A host who takes bookings: looks for a free table, and books it once the guest has agreed.

Served:  cd examples/openai_chat && turnwise up --app restaurant:app
         python chat.py

Any program that speaks to OpenAI can talk with it: its model is called `host`. With OPENAI_API_KEY set where the server
runs, a real model answers.
"""

from __future__ import annotations

import os
import re

from pydantic import BaseModel, Field

from turnwise import (
    AgentDoneTool,
    AgentSendTool,
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    LLMConfig,
    MockLMConfig,
    OpenAIGPTConfig,
    Task,
    ToolMessage,
)

# The largest party that still finds a table, by hour.
FREE = {18: 2, 19: 0, 20: 6, 21: 4}
SYSTEM_MESSAGE = "You are the host of a restaurant. Offer a table with the tool, for the time that the guest wants."

app = App("restaurant")


class OfferTable(ToolMessage):
    request: str = "offer_table"
    purpose: str = "To offer a table to <people> at <hour> o'clock; the guest is asked whether it is to be booked."
    people: int = Field(ge=1, le=12)
    hour: int = Field(ge=18, le=21)


class Say(ToolMessage):
    request: str = "say"
    purpose: str = "To say something else to the guest, as a <text>."
    text: str


class Host(ChatAgent):
    """Keeps the table that was offered; the guest's own yes books it, and no model's."""

    class State(BaseModel):
        offered: OfferTable | None = None

    state: State

    def offer_table(self, tool: OfferTable) -> AgentSendTool | str:
        if FREE[tool.hour] < tool.people:
            free = [hour for hour, people in FREE.items() if people >= tool.people]
            return f"Nothing is free at {tool.hour} for {tool.people}; free: {free or 'no hour'}"
        self.state.offered = tool
        return AgentSendTool(to="User", content=f"A table for {tool.people} at {tool.hour}:00. Shall I book it?")

    def say(self, tool: Say) -> AgentDoneTool:
        return AgentDoneTool(content=tool.text)

    def handle_message_fallback(self, msg: str | ChatDocument) -> AgentDoneTool | None:
        """Read the guest's answer to an offer."""
        offered = self.state.offered
        if offered is None or not isinstance(msg, ChatDocument) or msg.metadata.sender != Entity.USER:
            return None
        self.state.offered = None
        if msg.content.strip().lower() not in ("yes", "yes, please"):
            return AgentDoneTool(content="Then I keep no table. May I offer another time?")
        return AgentDoneTool(content=f"Your table for {offered.people} at {offered.hour}:00 is booked.")


def scripted_model(message: str) -> str:
    """Stands in for a real model: the first number is the party, the second one the hour."""
    if message.startswith("Nothing is free"):
        hours = re.findall(r"\d+", message.partition("free: ")[2])
        return Say(text=f"I am sorry. I have a table at {' or '.join(hours)}." if hours else "We are full.").to_json()
    numbers = [int(number) for number in re.findall(r"\d+", message)]
    if len(numbers) < 2:
        return Say(text="For how many, and at which hour?").to_json()
    return OfferTable(people=numbers[0], hour=numbers[1]).to_json()


@app.task
def host() -> Task:
    llm: LLMConfig = MockLMConfig(response_fn=scripted_model)
    if os.environ.get("OPENAI_API_KEY"):
        llm = OpenAIGPTConfig()
    agent = Host(ChatAgentConfig(name="Host", llm=llm, system_message=SYSTEM_MESSAGE))
    agent.enable_message([OfferTable, Say])
    return Task(agent, interactive=False)
