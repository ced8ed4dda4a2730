"""Texts that address someone, and the time that it takes to read signals in hostile ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.growth import grows_with_length

from turnwise.machine.done import answer_valid
from turnwise.machine.routing import read_route
from turnwise.machine.spec import TaskSpec
from turnwise.messages.document import ChatDocument
from turnwise.messages.signals import addressee, escape_signals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TO[Bob]: hello", ("Bob", "hello")),
        (" \nTO [\n Bob the 2nd \t]\n:\n two\nlines \n", ("Bob the 2nd", "two\nlines")),
        ("TO[Bob]:", ("Bob", "")),
        ("TO[[Bob]: hello", ("[Bob", "hello")),
        ("TO[ ]: hello", ("", "hello")),
        ("TO[]: hello", ("", "TO[]: hello")),
        ("TO[Bob] hello", ("", "TO[Bob] hello")),
        ("to[Bob]: hello", ("", "to[Bob]: hello")),
        ("Then TO[Bob]: hello", ("", "Then TO[Bob]: hello")),
    ],
)
def test_a_text_may_begin_with_whom_it_is_for(text: str, expected: tuple[str, str]) -> None:
    assert addressee(text) == expected


def routed(text: str) -> None:
    read_route(text, "|@|", only_at_start=False)


def judged(text: str) -> None:
    answer_valid(TaskSpec(name="Boss", path="Boss", agent="Boss"), ChatDocument(content=text))


@pytest.mark.parametrize("read", [addressee, escape_signals, routed, judged])
@pytest.mark.parametrize(
    ("start", "piece"),
    [
        ("TO[", " "),
        ("TO[", "\n"),
        ("TO[", "a "),
        ("TO[a]", " "),
        ("", " "),
        ("", "TO["),
        ("", "TO[a] "),
        ('{"recipient": ', '{"recipient": "a", '),
        ("recipient ", "{"),
        ("", "<recipient>"),
        ("", "\\"),
        ("", "\\DO"),
        ("__SEND__:", " "),
        ("", "__SEND__: "),
        ("", "|@|"),
        ("", "__PASS__"),
        ("DO-NOT-KNOW", "?"),
    ],
)
def test_a_hostile_text_is_read_in_time_that_grows_with_its_length(
    read: Callable[[str], object], start: str, piece: str
) -> None:
    grows_with_length(read, start, piece)
