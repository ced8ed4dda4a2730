"""Working on tickets over HTTP, several at a time, on threads that tell what happens through one queue."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from turnwise.api.events import EventView
from turnwise.api.runs import RunView
from turnwise.cli.connections import connect
from turnwise.cli.text.event_lines import ENDS, EventLine, EventLines
from turnwise.cli.text.messages import as_json, document_text
from turnwise.cli.text.run import result_text, tokens
from turnwise.demo.tickets import Ticket, outcome_of, ticket_message
from turnwise.errors import ConflictError, TurnwiseError

if TYPE_CHECKING:
    from turnwise.client import Client

_TOLD_OTHERWISE = ENDS | {"human.asked", "human.answered"}


@dataclass(frozen=True, kw_only=True)
class Happened:
    """An event of a ticket's run that is worth a line."""

    ticket: str
    line: EventLine


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to the human; the thread waits until `reply` holds the answer."""

    ticket: str
    text: str
    reply: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)


@dataclass(frozen=True, kw_only=True)
class Worked:
    """The outcome of a ticket; `failed` if its run did not complete."""

    ticket: str
    subject: str
    outcome: str
    turns: int = 0
    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Lost:
    """The server could not be spoken to, so that the ticket was not worked on."""

    ticket: str
    error: TurnwiseError


News = Happened | Question | Worked | Lost


class DemoWorkers:
    """Threads that work on the tickets in their order; `news` ends with one `Worked` or `Lost` for each."""

    def __init__(self, url: str, tickets: Sequence[Ticket], concurrency: int) -> None:
        self.news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._url = url
        self._tickets: queue.SimpleQueue[Ticket] = queue.SimpleQueue()
        for ticket in tickets:
            self._tickets.put(ticket)
        # Daemons: when the human has had enough, no one waits for them.
        self._threads = [
            threading.Thread(target=self._work, name=f"ticket-{number}", daemon=True) for number in range(concurrency)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        with connect(self._url) as client:
            while True:
                try:
                    ticket = self._tickets.get_nowait()
                except queue.Empty:
                    return
                try:
                    self.news.put(self._work_on(client, ticket))
                except TurnwiseError as error:
                    self.news.put(Lost(ticket=ticket.id, error=error))

    def _work_on(self, client: Client, ticket: Ticket) -> Worked:
        run_id = client.submit("triage", ticket_message(ticket), tags=[ticket.id]).id
        lines, turns = EventLines(width=400), 0
        for event in client.events(run_id):
            turns += event.type == "turn.taken"
            if isinstance(event, EventView) and event.type == "human.asked":
                self._ask(client, run_id, ticket, event)
            line = lines.line(as_json(event))
            # Question and end are news of their own, and the answer comes again as a turn.
            if line is not None and event.type not in _TOLD_OTHERWISE:
                self.news.put(Happened(ticket=ticket.id, line=line))
        return _worked(ticket, client.run(run_id), turns)

    def _ask(self, client: Client, run_id: str, ticket: Ticket, event: EventView) -> None:
        question = Question(ticket=ticket.id, text=document_text((event.data or {}).get("document")))
        self.news.put(question)
        text = question.reply.get()
        try:
            client.answer(run_id, text, question=event.ask)
        except ConflictError:
            return  # someone else was quicker, over HTTP


def _worked(ticket: Ticket, run: RunView, turns: int) -> Worked:
    completed = run.status == "completed"
    shown = as_json(run)
    return Worked(
        ticket=ticket.id,
        subject=ticket.subject,
        outcome=outcome_of(result_text(shown)) if completed else str(run.status_code).lower(),
        turns=turns,
        tokens=tokens(shown),
        cost=None if run.usage.unpriced_calls else Decimal(run.usage.cost),
        failed=not completed,
    )
