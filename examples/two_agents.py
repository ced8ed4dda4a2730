"""A planner that hands a question to another agent, and asks a human before it books.

In this process, the human at the terminal:  python examples/two_agents.py
Served:                                      cd examples && turnwise up --app two_agents:app
                                             turnwise submit trip "A weekend in Lyon"
                                             turnwise inbox
                                             turnwise answer RUN yes
"""

from __future__ import annotations

import re

from turnwise import App, ChatAgent, ChatAgentConfig, DoneTool, MockLMConfig, SendTool, Task, ToolMessage

FARES = {"Lyon": 84, "Porto": 139}

app = App("travel")


class FareTool(ToolMessage):
    """Answered by its own `handle`, which needs no agent."""

    request: str = "fare"
    purpose: str = "Look up the fare to a <city>."
    city: str

    def handle(self) -> str:
        fare = FARES.get(self.city)
        return f"Nobody goes to {self.city}." if fare is None else f"The fare to {self.city} is {fare} EUR."


def planner_model(message: str) -> str:
    """Ask Fares, then the human (`User`), then finish with what he said."""
    if city := re.match(r"A weekend in (\w+)", message):
        return SendTool(to="Fares", content=f"What is the fare to {city[1]}?").to_json()
    if message.startswith("The fare"):
        return f"__SEND__:User {message} Shall I book?"
    if message.strip().lower() == "yes":
        return DoneTool(content="It is booked.").to_json()
    return DoneTool(content=f"Nothing is booked: {message}").to_json()


def fares_model(message: str) -> str:
    """Use the tool, then end the sub-task with what it said."""
    if city := re.search(r"fare to (\w+)\?", message):
        return FareTool(city=city[1]).to_json()
    return DoneTool(content=message).to_json()


@app.task
def trip() -> Task:
    """The planner's task with that of the other agent below it: its name is where messages are sent."""
    planner = ChatAgent(ChatAgentConfig(name="Planner", llm=MockLMConfig(response_fn=planner_model)))
    planner.enable_message([SendTool, DoneTool])
    fares = ChatAgent(ChatAgentConfig(name="Fares", llm=MockLMConfig(response_fn=fares_model)))
    fares.enable_message([FareTool, DoneTool])
    task = Task(planner, interactive=False)
    task.add_sub_task(Task(fares, interactive=False))
    return task


if __name__ == "__main__":
    result = trip().run("A weekend in Lyon")
    print(result.content if result else "no answer")
