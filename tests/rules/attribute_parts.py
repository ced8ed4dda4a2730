"""Tools and agents that several scenarios of attributes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rules.cast import Cast
from tests.rules.words import tool

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    Task,
    ToolMessage,
)


class Number(ToolMessage):
    request: str = "number"
    purpose: str = "To give a <n>."
    n: int = 0


class Word(ToolMessage):
    request: str = "word"
    purpose: str = "To give a <w>."
    w: str = ""


class Show(ToolMessage):
    request: str = "show"
    purpose: str = "To show what was kept."


def n(value: int) -> str:
    return tool("number", n=value)


def w(value: str) -> str:
    return tool("word", w=value)


SHOW = tool("show")
TOOLS: list[type[ToolMessage]] = [Number, Word, Show]


def team(kind: type[ChatAgent], *lines: str, **more: Any) -> Callable[[Cast], Task]:
    """One agent of a kind, whose model says the lines."""

    def build(cast: Cast) -> Task:
        return cast.task(cast.agent("Boss", *lines, kind=kind, tools=TOOLS), **more)

    return build


class Lists(ChatAgent):
    """Changes lists and dicts in place."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.seen: list[int] = []
        self.by_word: dict[str, list[int]] = {"first": [0]}

    def number(self, msg: Number) -> str:
        self.seen.append(msg.n)
        self.by_word["first"].append(msg.n)
        return str(self.seen)

    def word(self, msg: Word) -> str:
        self.by_word.setdefault(msg.w, []).extend(self.seen)
        return str(self.by_word)

    def show(self, msg: Show) -> str:
        return f"{self.seen} {self.by_word}"
