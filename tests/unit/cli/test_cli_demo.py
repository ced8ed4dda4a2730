"""The demo on the terminal: turns as they come, questions, and a table that adds up."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from queue import SimpleQueue

import pytest
from rich.console import Console

from turnwise.cli.demo.session import Session
from turnwise.cli.demo.ticket_workers import Happened, Lost, News, Question, Worked
from turnwise.cli.text.event_lines import EventLine
from turnwise.demo.tickets import Ticket
from turnwise.errors import GatewayUnavailableError

TICKETS = [Ticket(id=name, sender="ann@example.com", subject=f"About {name}", text="Hello") for name in ("T-1", "T-2")]


class Screen:
    """A session over two tickets, and what it printed."""

    def __init__(self, human: Callable[[], str] | None = None) -> None:
        self._out = io.StringIO()
        self.session = Session(Console(file=self._out, width=100), TICKETS, human)

    @property
    def text(self) -> str:
        return self._out.getvalue()


def worked(
    ticket: str, outcome: str = "answered", cost: Decimal | None = Decimal("0.01"), *, failed: bool = False
) -> Worked:
    return Worked(
        ticket=ticket, subject=f"About {ticket}", outcome=outcome, turns=3, tokens=100, cost=cost, failed=failed
    )


def queued(*news: News) -> SimpleQueue[News]:
    found: SimpleQueue[News] = SimpleQueue()
    for one in news:
        found.put(one)
    return found


def test_a_turn_is_one_line_with_ticket_task_speaker_tokens_and_cost() -> None:
    screen = Screen()
    line = EventLine(task="Triage", who="LLM", text="a long answer " * 20, tokens=120, cost="0.0005")

    screen.session.follow(queued(Happened(ticket="T-1", line=line), worked("T-1"), worked("T-2")))

    first = screen.text.splitlines()[0]
    assert first.startswith("T-1    Triage")
    assert "LLM: a long answer" in first
    assert first.endswith("…  120 tok $0.0005")


def test_with_approval_for_all_a_question_is_answered_with_yes() -> None:
    question = Question(ticket="T-1", text="Approve a refund of 80 USD?")

    Screen().session.follow(queued(question, worked("T-1"), worked("T-2")))

    assert question.reply.get_nowait() == "yes"


def test_without_it_the_human_is_asked() -> None:
    screen = Screen(lambda: "no, too much")
    question = Question(ticket="T-1", text="Approve a refund of 80 USD?")

    screen.session.follow(queued(question, worked("T-1"), worked("T-2")))

    assert "T-1: Approve a refund of 80 USD?" in screen.text
    assert question.reply.get_nowait() == "no, too much"


def test_the_table_lists_tickets_in_their_order_and_adds_up() -> None:
    screen = Screen()
    screen.session.follow(queued(worked("T-2"), worked("T-1", "refunded")))

    screen.session.print_table()

    table = screen.text[screen.text.index("Tickets") :]
    assert table.index("About T-1") < table.index("About T-2")
    totals = next(line for line in table.splitlines() if "2 of 2" in line)
    assert "1 refunded, 1 answered" in totals
    assert [cell.strip() for cell in totals.strip("│").split("│")][-3:] == ["6", "200", "$0.0200"]


def test_a_cost_that_is_not_known_is_marked_and_not_counted_as_nothing() -> None:
    screen = Screen()
    screen.session.follow(queued(worked("T-1", cost=None), worked("T-2")))

    screen.session.print_table()

    assert "$0.0100+?" in screen.text


def test_a_run_that_did_not_complete_fails_the_session() -> None:
    screen = Screen()

    screen.session.follow(queued(worked("T-1"), worked("T-2", "error", failed=True)))

    assert screen.session.failed


def test_a_server_that_is_gone_ends_the_session() -> None:
    lost = Lost(ticket="T-1", error=GatewayUnavailableError("no gateway answers"))

    with pytest.raises(GatewayUnavailableError):
        Screen().session.follow(queued(lost))
