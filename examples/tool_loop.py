"""An agent that adds an order up with a tool, and a scripted model that stands in for a real one.

In this process:  python examples/tool_loop.py "3 lamps and 2 chairs"
Served:           cd examples && turnwise up --app tool_loop:app
                  turnwise submit quote "3 lamps and 2 chairs" --wait
"""

from __future__ import annotations

import re
import sys

from pydantic import BaseModel

from turnwise import App, ChatAgent, ChatAgentConfig, DoneTool, MockLMConfig, Task, ToolMessage

PRICES = {"lamp": 40, "chair": 75, "desk": 220}

app = App("shop")


class AddTool(ToolMessage):
    """The tool that the model writes; the method of the agent with the same name as `request` answers it."""

    request: str = "add"
    purpose: str = "Add <count> pieces of an <article> to the quote; <rest> is what the order holds beyond it."
    article: str
    count: int
    rest: str = ""


class Clerk(ChatAgent):
    """Keeps the total, which survives a restart because it is declared as state."""

    class State(BaseModel):
        total: int = 0

    state: State

    def add(self, tool: AddTool) -> str:
        """Handle an `AddTool`; the text is the next message to the model."""
        price = PRICES.get(tool.article)
        if price is None:
            return f"We do not sell a {tool.article}. Total {self.state.total} EUR. Left: {tool.rest}"
        self.state.total += tool.count * price
        return f"{tool.count} {tool.article} added. Total {self.state.total} EUR. Left: {tool.rest}"


def scripted_model(message: str) -> str:
    """Answers as a model would: one article at a time, then the total."""
    _, result, left = message.partition("Left: ")
    order = left if result else message
    item = re.search(r"(\d+) ([a-z]+?)s?\b(.*)", order)
    if item is not None:
        return AddTool(article=item[2], count=int(item[1]), rest=item[3].removeprefix(" and ")).to_json()
    total = re.search(r"Total (\d+) EUR", message)
    return DoneTool(content=f"That is {total[1]} EUR." if total else "There is nothing to add up.").to_json()


@app.task
def quote() -> Task:
    """One agent and its tools; replace the model by `OpenAIGPTConfig(...)` for a real one."""
    model = MockLMConfig(response_fn=scripted_model)
    agent = Clerk(ChatAgentConfig(name="Clerk", llm=model, system_message="Quote the customer's order."))
    agent.enable_message([AddTool, DoneTool])
    return Task(agent, interactive=False)


if __name__ == "__main__":
    result = quote().run(sys.argv[1] if len(sys.argv) > 1 else "3 lamps and 2 chairs")
    print(result.content if result else "no answer")
