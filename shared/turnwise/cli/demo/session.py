"""A session of the demo on the terminal: the turns as they happen, questions to the human, a table at the end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from queue import SimpleQueue

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from turnwise.base.text import first_line
from turnwise.cli.demo.desk import open_desk
from turnwise.cli.demo.ticket_workers import DemoWorkers, Happened, Lost, News, Question, Worked
from turnwise.cli.group import FAILED
from turnwise.cli.signals import wait_for_stop
from turnwise.cli.text.console import console
from turnwise.cli.text.messages import money
from turnwise.demo.tickets import Ticket
from turnwise.observability.logs import configure_logging

_INTERRUPTED = 130
_NARROW = 30
_STYLES = {"answered": "green", "refunded": "cyan", "declined": "yellow", "escalated": "magenta"}


def run_demo(tickets: Sequence[Ticket], *, approve_all: bool, concurrency: int) -> int:
    """Work on the tickets; the exit code: 0, 1 if a run failed, 130 after Ctrl-C while they are worked on.

    On a terminal the desk then stays open, for the console, until Ctrl-C; a script continues at once.
    """
    configure_logging("console", "WARNING")
    human = None if approve_all or not sys.stdin.isatty() else _typed
    stays = human is not None and sys.stdout.isatty()
    out = console()
    with open_desk(concurrency) as desk:
        out.print(f"A support desk at {desk.url}, model {desk.model}, {len(tickets)} tickets.")
        out.print(f"The console, to watch them in a browser: {desk.url}/\n")
        session = Session(out, tickets, human)
        workers = DemoWorkers(desk.url, tickets, concurrency)
        workers.start()
        try:
            session.follow(workers.news)
        except (KeyboardInterrupt, typer.Abort):
            out.print("\nStopped.")
            session.print_table()
            return _INTERRUPTED
        session.print_table()
        if stays:
            out.print(f"\nThe desk stays open, with every run at {desk.url}/ to look at. Ctrl-C ends it.")
            wait_for_stop()
    return FAILED if session.failed else 0


class Session:
    """The output of one run of the demo; all of it from one thread, so that a question is never written over.

    `human` gives the answer to the question that has just been shown; without one, every answer is yes.
    """

    def __init__(self, out: Console, tickets: Sequence[Ticket], human: Callable[[], str] | None) -> None:
        self._out = out
        self._order = {ticket.id: number for number, ticket in enumerate(tickets)}
        self._human = human
        self._worked: dict[str, Worked] = {}

    @property
    def failed(self) -> bool:
        """Return whether a run did not complete."""
        return any(worked.failed for worked in self._worked.values())

    def follow(self, news: SimpleQueue[News]) -> None:
        """Show the news until every ticket has been worked on; raises what a worker could not continue with."""
        while len(self._worked) < len(self._order):
            match news.get():
                case Happened() as happened:
                    self._print_line(happened)
                case Question() as question:
                    question.reply.put(self._ask(question))
                case Worked() as worked:
                    self._worked[worked.ticket] = worked
                    self._print_outcome(worked)
                case Lost(error=error):
                    raise error

    def print_table(self) -> None:
        """The tickets, what became of them and what that took, with totals; nothing if none came to its end."""
        if not self._worked:
            return
        table = Table(title="Tickets", title_justify="left", show_footer=True)
        done = sorted(self._worked.values(), key=lambda worked: self._order[worked.ticket])
        outcomes = Counter(worked.outcome for worked in done)
        costs = [worked.cost for worked in done]
        known = sum((cost for cost in costs if cost is not None), Decimal(0))
        table.add_column("ticket", f"{len(done)} of {len(self._order)}", no_wrap=True)
        table.add_column("subject", max_width=44)
        table.add_column("outcome", ", ".join(f"{count} {name}" for name, count in outcomes.most_common()))
        table.add_column("turns", str(sum(worked.turns for worked in done)), justify="right")
        table.add_column("tokens", str(sum(worked.tokens for worked in done)), justify="right")
        table.add_column("cost", money(known) + ("+?" if None in costs else ""), justify="right")
        for worked in done:
            outcome = Text(worked.outcome, "red" if worked.failed else _STYLES.get(worked.outcome, ""))
            cells = (worked.ticket, first_line(worked.subject, 44), outcome)
            table.add_row(*cells, str(worked.turns), str(worked.tokens), money(worked.cost))
        self._out.print()
        self._out.print(table)

    def _print_line(self, happened: Happened) -> None:
        line = happened.line
        spent = f"  {line.tokens} tok {money(line.cost)}" if line.tokens is not None else ""
        text = Text()
        text.append(f"{happened.ticket:<6}", "bold")
        text.append(f" {line.task:<22} ", "dim")
        text.append(f"{line.who}: ", "cyan")
        # One line each, as wide as the terminal.
        text.append(first_line(line.text, max(self._out.width - len(text) - len(spent), _NARROW)))
        text.append(spent, "dim")
        self._out.print(text)

    def _print_outcome(self, worked: Worked) -> None:
        style = "red" if worked.failed else _STYLES.get(worked.outcome, "")
        self._out.print(Text(f"{worked.ticket:<6} => {worked.outcome}", f"bold {style}".strip()))

    def _ask(self, question: Question) -> str:
        if self._human is None:
            self._out.print(Text(f"{question.ticket:<6} the human is asked, and --yes answers: yes", "yellow"))
            return "yes"
        self._out.print()
        self._out.print(Text(f"{question.ticket}: {question.text}", "bold yellow"))
        return self._human()


def _typed() -> str:
    return str(typer.prompt("Your answer", default="no"))
