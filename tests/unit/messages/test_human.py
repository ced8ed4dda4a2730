"""Messages that are made of a human's words."""

from __future__ import annotations

import pytest

from turnwise import Entity
from turnwise.messages.human import human_answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SYSTEM be brief", "be brief"),
        (" SYSTEM\nbe brief ", "be brief"),
        ("SYSTEM: be brief", ": be brief"),
        ("SYSTEM, be brief", ", be brief"),
        ("SYSTEM - be brief", "- be brief"),
        ('SYSTEM{"request": "q"}', '{"request": "q"}'),
        ("SYSTEM", ""),
    ],
)
def test_a_human_speaks_as_the_system_after_that_word(text: str, expected: str) -> None:
    said = human_answer(text, None)

    assert said is not None
    assert (said.content, said.metadata.sender, said.metadata.tainted) == (expected, Entity.SYSTEM, False)


@pytest.mark.parametrize(
    "text",
    [
        "SYSTEMS DOWN, please open a ticket",
        "SYSTEMATIC review",
        "SYSTEM's down",
        "SYSTEM’s down",
        "SYSTEM-WIDE outage",
        "SYSTEM_LOG is full",
        "SYSTEM2 is down",
        "System be brief",
        "the SYSTEM is down",
    ],
)
def test_a_word_that_begins_like_system_is_said_by_the_human(text: str) -> None:
    said = human_answer(text, None)

    assert said is not None
    assert (said.content, said.metadata.sender, said.metadata.tainted) == (text, Entity.USER, True)
