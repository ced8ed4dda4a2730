"""The agents of the scenarios, and their tools."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from turnwise import (
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    FinalResultTool,
    OpenAIGPTConfig,
    ResultTool,
    ToolMessage,
)

_MODEL = "turnwise-fake"


def config(role: str, name: str = "", **more: Any) -> ChatAgentConfig:
    """The settings of an agent whose model plays `role`; where the model is, OPENAI_BASE_URL says."""
    llm = OpenAIGPTConfig(chat_model=_MODEL, input_price=Decimal(1), output_price=Decimal(2), timeout=90)
    return ChatAgentConfig(name=name or role.capitalize(), llm=llm, system_message=f"You play {role}.", **more)


class Add(ToolMessage):
    request: str = "add"
    purpose: str = "To add <a> and <b>."
    a: int
    b: int


class Spell(ToolMessage):
    request: str = "spell"
    purpose: str = "To spell a <word>."
    word: str


class Calculator(ChatAgent):
    def add(self, tool: Add) -> str:
        return f"{tool.a} + {tool.b} = {tool.a + tool.b}"

    def spell(self, tool: Spell) -> str:
        return "-".join(tool.word)


class ReadPage(ToolMessage):
    request: str = "read_page"
    purpose: str = "To read the page of that <number>."
    number: int

    def handle(self) -> str:
        return f"Page {self.number}: herons {'wade' if self.number == 7 else 'fish'}."


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To keep a <text>."
    text: str


class Report(ToolMessage):
    request: str = "report"
    purpose: str = "To report the notes, which ends the task."


class Notes(BaseModel):
    texts: list[str] = []
    by_length: dict[int, str] = {}
    worth: Decimal = Decimal("0.10")


class Counter(ChatAgent):
    """Keeps what it is told in its state, and hands all of it out as a tool within a tool."""

    State = Notes
    state: Notes

    def note(self, tool: Note) -> str:
        self.state.texts.append(tool.text)
        self.state.by_length[len(tool.text)] = tool.text
        self.state.worth += Decimal("0.05")
        return f"Note {len(self.state.texts)} is kept; all are worth {self.state.worth}."

    def report(self, tool: Report) -> AgentDoneTool:
        found = ResultTool.model_validate(
            {"notes": self.state.texts, "by_length": self.state.by_length, "worth": self.state.worth}
        )
        return AgentDoneTool(content={"notes": len(self.state.texts)}, tools=[found])


class Decide(ToolMessage):
    request: str = "decide"
    purpose: str = "To decide with a <verdict>."
    verdict: str

    def handle(self) -> FinalResultTool:
        return FinalResultTool.model_validate({"verdict": self.verdict, "reasons": [{"weight": 1.5}, None]})


class Explode(ToolMessage):
    request: str = "explode"
    purpose: str = "To fail <where> you say."
    where: str

    def handle(self) -> str:
        raise ValueError(f"it exploded {self.where}")


class Pay(ToolMessage):
    """Handled, but no model may use it; so no text of a human runs it."""

    request: str = "pay"
    purpose: str = "To pay an <amount>."
    amount: int

    def handle(self) -> str:
        return f"DONE paid {self.amount}"


class Haul(ToolMessage):
    request: str = "haul"
    purpose: str = "To get a text of so many <kilobytes>."
    kilobytes: int

    def handle(self) -> str:
        return "heavy " * (self.kilobytes * 1024 // 6)
