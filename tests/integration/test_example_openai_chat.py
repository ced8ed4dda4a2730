"""The example of a chat written for OpenAI."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.openai_chat import restaurant
from tests.support.examples import output, served, started


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted model answers."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_chat_written_for_openai_books_a_table(tmp_path: Path) -> None:
    with served(restaurant.app, tmp_path) as client:
        talk = output(
            started("openai_chat/chat.py", url=client.base_url), "hello\n4 people at 19\n4 people at 20\nyes\n"
        )
        runs = client.runs().items

    said = [line.removeprefix("You: ").removeprefix("Host: ") for line in talk.splitlines()]
    assert said == [
        "At the door: host",
        "For how many, and at which hour?",
        "I am sorry. I have a table at 20 or 21.",
        "A table for 4 at 20:00. Shall I book it?",
        "Your table for 4 at 20:00 is booked.",
        "",
    ]
    assert [run.status for run in runs] == ["completed"] * 3
