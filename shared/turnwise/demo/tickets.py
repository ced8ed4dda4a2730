"""Tickets: read from a JSONL file, written as a run's message, and judged by a run's result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from turnwise.errors import InvalidRequestError

Outcome = Literal["answered", "refunded", "declined", "escalated", "closed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# What `outcome_of` says of a result that no closing wrote.
UNFINISHED = "unfinished"

_HEADER = re.compile(r"Ticket (\S+) from (\S+@\S+)")
_EXPECTED = '{"id": "T-1", "from": "ann@example.com", "subject": "...", "text": "..."}'


class Ticket(BaseModel):
    """One line of the file; `sender` is the key `from` there."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    # No blanks: both stand in the first line of the run's message, which code reads again.
    id: str = Field(pattern=r"^\S+$", max_length=64)
    sender: str = Field(alias="from", pattern=r"^[^\s@]+@[^\s@]+$", max_length=254)
    subject: str = ""
    text: str


class TicketHeader(BaseModel):
    """The first line of a run's message: the ticket, and whose it is."""

    model_config = ConfigDict(frozen=True)

    ticket: str
    customer: str


def load_tickets(path: Path | None = None) -> list[Ticket]:
    """Read a JSONL file (default: the tickets that ship); blank lines are skipped.

    Raises `InvalidRequestError` that names every bad line.
    """
    if path is None:
        return _parse((resources.files("turnwise.demo") / "tickets.jsonl").read_text(encoding="utf-8"), "tickets.jsonl")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror}; name a JSONL file of tickets") from error
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    return _parse(text, str(path))


def ticket_message(ticket: Ticket) -> str:
    """The message that starts a ticket's run: a header line for the code, then what the customer wrote."""
    return f"Ticket {ticket.id} from {ticket.sender}\nSubject: {ticket.subject}\n\n{ticket.text}"


def read_header(message: str) -> TicketHeader | None:
    """The header of a run's message, or None; only the first line counts, the customer wrote the rest."""
    found = _HEADER.fullmatch(message.split("\n", 1)[0].strip())
    return TicketHeader(ticket=found[1], customer=found[2].lower()) if found else None


def result_text(outcome: Outcome, answer: str) -> str:
    """A closed ticket as the run's result, for `outcome_of` and for people."""
    return f"Outcome: {outcome}\n\n{answer}"


def outcome_of(result: str | None) -> str:
    """The outcome that a run's result text states in its first line, else `UNFINISHED`."""
    word = (result or "").split("\n", 1)[0].removeprefix("Outcome: ").strip()
    return word if word in OUTCOMES else UNFINISHED


def answer_of(result: str | None) -> str:
    """Return what the customer is told: the result's text without its first line."""
    return (result or "").partition("\n\n")[2]


def _parse(text: str, name: str) -> list[Ticket]:
    tickets: list[Ticket] = []
    faults: list[str] = []
    first_use: dict[str, int] = {}
    # Not splitlines(): JSON text may hold characters such as U+2028 that it takes for line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        ticket = _ticket(line, number, faults)
        if ticket is None:
            continue
        if ticket.id in first_use:
            faults.append(f"line {number}: id {ticket.id!r} is that of line {first_use[ticket.id]}; ids must differ")
            continue
        first_use[ticket.id] = number
        tickets.append(ticket)
    if faults:
        shown = _few(faults)
        raise InvalidRequestError(f"{name} has lines that are not tickets; expected {_EXPECTED} on each:\n{shown}")
    if not tickets:
        raise InvalidRequestError(f"{name} holds no ticket; expected {_EXPECTED} on each line")
    return tickets


def _ticket(line: str, number: int, faults: list[str]) -> Ticket | None:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        faults.append(f"line {number}: not JSON ({error.msg} at column {error.colno})")
        return None
    if not isinstance(found, dict):
        faults.append(f"line {number}: a {type(found).__name__}, not an object")
        return None
    try:
        return Ticket.model_validate(found)
    except ValidationError as error:
        wrong = (f"{'.'.join(str(part) for part in each['loc'])}: {each['msg'].lower()}" for each in error.errors())
        faults.append(f"line {number}: {'; '.join(wrong)}")
        return None


def _few(faults: Iterable[str], most: int = 10) -> str:
    every = list(faults)
    rest = [f"... and {len(every) - most} more"] if len(every) > most else []
    return "\n".join(f"  {fault}" for fault in every[:most] + rest)
