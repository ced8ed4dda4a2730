"""A run's events as lines for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from turnwise.base.text import first_line
from turnwise.cli.text.messages import Json, document_text, money, speaker

ENDS = frozenset({"run.completed", "run.failed", "run.cancelled"})


@dataclass(frozen=True, kw_only=True)
class EventLine:
    """An event as a line: its task, its speaker, its text, and the cost of a model call."""

    task: str
    who: str
    text: str
    tokens: int | None = None
    cost: str | None = None

    def __str__(self) -> str:
        spent = f"  [{self.tokens} tokens, {money(self.cost)}]" if self.tokens is not None else ""
        return f"{self.task}  {self.who}: {self.text}{spent}"


class EventLines:
    """Makes lines of one run's events, taken in order; it remembers the usage told before the turn it belongs to."""

    def __init__(self, width: int = 100) -> None:
        self._width = width
        self._usage: dict[str, Any] = {}

    def line(self, event: Json) -> EventLine | None:
        """The event's line; None for what is only bookkeeping."""
        kind, data = event["type"], event.get("data") or {}
        task = str(event.get("task") or "")
        document = data.get("document")
        if kind == "usage.settled":
            self._usage = data
            return None
        if kind == "turn.taken" and document and not (data.get("passed") or data.get("null")):
            return self._turn(task, document)
        text = _notes(kind, data)
        return EventLine(task=task, who=kind, text=first_line(text, self._width)) if text is not None else None

    def _turn(self, task: str, document: Json) -> EventLine:
        usage, self._usage = self._usage, {}
        text = first_line(document_text(document), self._width)
        if not usage:
            return EventLine(task=task, who=speaker(document), text=text)
        tokens = int(usage["prompt_tokens"]) + int(usage["completion_tokens"])
        return EventLine(task=task, who=speaker(document), text=text, tokens=tokens, cost=usage.get("cost"))


def _notes(kind: str, data: Json) -> str | None:
    """Return what is told of an event that is no turn."""
    if kind in ("human.asked", "human.answered"):
        return document_text(data.get("document"))
    if kind == "ask.expired":
        lost = "could not write its answer" if data.get("unwritten") else "fell silent"
        return f"worker {data.get('worker')} {lost}; somebody else takes over"
    if kind == "run.retried":
        return f"goes on from event {data.get('to')}"
    if kind == "run.forked":
        return f"of {data.get('run')}, from event {data.get('at')} on"
    if kind == "ask.deferred" and (error := data.get("error")) is not None:
        return f"try {data.get('attempt')} failed, the next is in {data.get('wait', 0):.1f} s: {error.get('message')}"
    if kind == "limit.reached":
        return str(data.get("message") or data.get("limit"))
    if kind in ENDS:
        error = data.get("error") or {}
        return ": ".join(str(part) for part in (data.get("status"), error.get("message")) if part)
    return None
