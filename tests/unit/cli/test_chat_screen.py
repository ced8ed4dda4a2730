"""The display of a chat for pieces of text that get lost, come late or begin anew."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any, cast

import pytest
from tests.support.client_views import run_view

from turnwise.api.events import DeltaView, EventView, StreamItem
from turnwise.api.runs import RunWithTree
from turnwise.cli.chat_screen import ChatScreen
from turnwise.client import Client
from turnwise.errors import NotFoundError

AT = "2026-11-23T00:20:16Z"
RUN = run_view(finished_at=AT, status="completed")


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Told:
    """A client whose run has these events."""

    def __init__(self, *events: StreamItem) -> None:
        self._events = events

    def events(self, run_id: str, *, text: bool = False) -> Iterator[StreamItem]:
        yield from self._events

    def run(self, run_id: str) -> RunWithTree:
        raise NotFoundError("nobody asks")


def event(seq: int, kind: str, *, ask: str = "a", **data: Any) -> EventView:
    told = {"seq": seq, "type": kind, "at": AT, "run": "run_1", "task": "desk", "turn": 0, "ask": ask, "data": data}
    return EventView.model_validate(told)


def asked(seq: int = 2) -> EventView:
    return event(seq, "turn.asked", responder="LLM")


def taken(text: str, kind: str = "turn.taken") -> EventView:
    document = {"content": text, "metadata": {"id": "doc_1", "sender": "LLM"}}
    return event(3, kind, responder="LLM", document=document)


def piece(text: str, offset: int, attempt: int = 1) -> DeltaView:
    return DeltaView(run="run_1", ask="a", attempt=attempt, offset=offset, text=text)


WHOLE = "* (desk) LLM: one two three\n"


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([asked(), piece("one ", 0), piece("two three", 4), taken("one two three")], WHOLE),
        # A piece may overtake the event that says who is asked.
        ([piece("one ", 0), asked(), piece("two three", 4), taken("one two three")], WHOLE),
        ([asked(), piece("two three", 4), taken("one two three")], WHOLE),
        (
            [asked(), piece("one ", 0), piece("three", 8), taken("one two three")],
            f"* (desk) LLM: one  [a part was lost; the whole answer follows]\n{WHOLE}",
        ),
        (
            [asked(), piece("one t", 0), piece("one two three", 0, 2), piece("w", 5), taken("one two three")],
            f"* (desk) LLM: one t  [this answer does not count]\n{WHOLE}",
        ),
        (
            [asked(), piece("one two three", 0), taken("one two three", "turn.rejected")],
            "* (desk) LLM: one two three  [not taken]\n",
        ),
        ([asked(), taken("one two three")], WHOLE),
        ([asked(), piece("o\x1b", 0), piece("[3", 2), taken("o\x1b[3")], "* (desk) LLM: o\\x1b[3\n"),
    ],
)
def test_an_answer_is_shown_once_or_says_why_it_is_not(
    monkeypatch: pytest.MonkeyPatch, events: list[StreamItem], shown: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(screen := Tty()):
        assert not list(ChatScreen(cast(Client, Told(*events)), RUN).questions())

    assert screen.getvalue() == shown


def test_what_happened_before_somebody_came_is_not_told_again() -> None:
    run = run_view(last_event=4, waiting_for={"kind": "human", "question": "open"})
    before = [asked(), taken("one two three"), event(4, "human.asked", ask="answered")]
    told = Told(*before, event(4, "human.asked", ask="open"))

    with redirect_stdout(screen := Tty()):
        questions = list(ChatScreen(cast(Client, told), run).questions())

    assert [question.ask for question in questions] == ["open"]
    assert screen.getvalue() == ""


def test_what_holds_a_run_up_is_told() -> None:
    error = {"type": "ModelUnavailableError", "message": "away\x1b"}
    deferred = event(3, "ask.deferred", error=error, attempt=1, wait=2.5)

    with redirect_stdout(screen := Tty()):
        list(ChatScreen(cast(Client, Told(asked(), deferred)), RUN).questions())

    assert screen.getvalue() == "  desk  ask.deferred: try 1 failed, the next is in 2.5 s: away\\x1b\n"
