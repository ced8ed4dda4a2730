"""Tools that many scenarios use."""

from __future__ import annotations

from typing import Any

from turnwise import AgentDoneTool, ChatDocument, ToolMessage


class Add(ToolMessage):
    request: str = "add"
    purpose: str = "To add <a> and <b>."
    a: int
    b: int = 1

    def handle(self) -> str:
        return str(self.a + self.b)


class Say(ToolMessage):
    """Whatever it is given, AGENT says."""

    request: str = "say"
    purpose: str = "To have <text> said."
    text: str = ""

    def handle(self) -> str:
        return self.text


class Launch(ToolMessage):
    """For handlers; no model may use it."""

    request: str = "launch"
    purpose: str = "To launch from <where>."
    where: str = "pad"
    _allow_llm_use: bool = False

    def handle(self) -> str:
        return f"launched from {self.where}"


class Value(ToolMessage):
    """Ends the task with a value of any kind."""

    request: str = "value"
    purpose: str = "To end with <it>."
    it: Any = None

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=self.it)


class Given(ToolMessage):
    request: str = "given"
    purpose: str = "To say of what type the value is that came before."

    def handle(self, chat_doc: ChatDocument) -> str:
        return type(chat_doc.parent.content_any).__name__ if chat_doc.parent is not None else "nothing"
