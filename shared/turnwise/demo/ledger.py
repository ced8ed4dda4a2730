"""The desk's books: invoices and the refunds paid on them, in one SQLite file.

Every rule about money is here, in code, and none of it in a prompt: an invoice is shown to and refunded for its own
customer only, nothing is refunded twice, and what goes beyond the limit needs a human. Amounts are `Decimal` outside
and whole cents inside; all are US dollars.
"""

from __future__ import annotations

import csv
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from pathlib import Path

from turnwise.errors import ConfigurationError

# What the desk may pay for one ticket, or on one invoice, before a human has to agree.
APPROVAL_LIMIT = Decimal("100.00")

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS invoices (
           number TEXT PRIMARY KEY, customer TEXT NOT NULL, issued TEXT NOT NULL, item TEXT NOT NULL,
           total_cents INTEGER NOT NULL CHECK (total_cents > 0), status TEXT NOT NULL CHECK (status IN ('paid', 'open'))
       )""",
    """CREATE TABLE IF NOT EXISTS refunds (
           id INTEGER PRIMARY KEY, ticket TEXT NOT NULL, invoice TEXT NOT NULL REFERENCES invoices (number),
           amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), reason TEXT NOT NULL, approved INTEGER NOT NULL,
           UNIQUE (ticket, invoice, amount_cents)
       )""",
)
_INVOICES = """
    SELECT number, customer, issued, item, total_cents, status,
           (SELECT coalesce(sum(amount_cents), 0) FROM refunds WHERE invoice = number)
    FROM invoices
"""


@dataclass(frozen=True, kw_only=True)
class Invoice:
    """One invoice; `issued` is an ISO date, `refunded` what was paid back on it so far."""

    number: str
    customer: str
    issued: str
    item: str
    total: Decimal
    status: str
    refunded: Decimal


@dataclass(frozen=True, kw_only=True)
class RefundRequest:
    """Money that `customer`, in `ticket`, is to get back on an invoice."""

    ticket: str
    customer: str
    invoice: str
    amount: Decimal
    reason: str


@dataclass(frozen=True, kw_only=True)
class Paid:
    """The refund is in the books; `again` says that this very one had been paid before and nothing was added."""

    number: str
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class NeedsApproval:
    """Nothing was paid; the same request with `approved=True` would be."""

    limit: Decimal


@dataclass(frozen=True, kw_only=True)
class RefundRefused:
    """Nothing was paid and no approval would change it; `reason` is a sentence for the agent."""

    reason: str


def demo_directory() -> Path:
    """Return where the books are kept: `TURNWISE_DEMO_DIR`, else a folder among the user's application data."""
    if chosen := os.environ.get("TURNWISE_DEMO_DIR"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "turnwise" / "demo"


class Ledger:
    """The books in `directory`, made from the invoices that ship when first used.

    Each call opens a connection of its own and writes under SQLite's write lock, so that any number of threads and
    processes may share the file.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._path = (directory or demo_directory()) / "ledger.sqlite"

    def invoices_of(self, customer: str) -> list[Invoice]:
        """Return all invoices of a customer, the newest first."""
        with self._connection() as connection:
            found = connection.execute(
                f"{_INVOICES} WHERE customer = ? ORDER BY issued DESC, number DESC", (_email(customer),)
            )
            return [_invoice(row) for row in found]

    def invoice_of(self, customer: str, number: str) -> Invoice | None:
        """Return one invoice, or None: an unknown number and another customer's look the same."""
        with self._connection() as connection:
            return _find(connection, customer, number)

    def refunded_in(self, ticket: str) -> Decimal:
        """Return what was paid for a ticket so far."""
        with self._connection() as connection:
            (cents,) = connection.execute(
                "SELECT coalesce(sum(amount_cents), 0) FROM refunds WHERE ticket = ?", (ticket,)
            ).fetchone()
            return _money(cents)

    def refund(self, request: RefundRequest, *, approved: bool = False) -> Paid | NeedsApproval | RefundRefused:
        """Pay, if the rules allow it; check and entry are one transaction.

        The same ticket, invoice and amount are paid once, however often they are asked for.
        """
        cents = _cents(request.amount)
        if cents is None:
            return RefundRefused(
                reason=f"{request.amount} is not an amount; expected more than zero, with whole cents."
            )
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            verdict = _refund(connection, request, cents, approved)
            connection.execute("COMMIT")
            return verdict

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            opened = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        except (OSError, sqlite3.OperationalError) as error:
            raise ConfigurationError(
                f"The demo cannot keep its books in {self._path.parent} ({error}); "
                "set TURNWISE_DEMO_DIR to a directory it may write to"
            ) from error
        with closing(opened) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                _build(connection)
            yield connection


def _build(connection: sqlite3.Connection) -> None:
    text = (resources.files("turnwise.demo") / "invoices.csv").read_text(encoding="utf-8")
    rows = [
        (
            row["number"],
            _email(row["customer"]),
            row["issued"],
            row["item"],
            _cents(Decimal(row["total"])),
            row["status"],
        )
        for row in csv.DictReader(text.splitlines())
    ]
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.executemany("INSERT OR IGNORE INTO invoices VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("COMMIT")


def _refund(
    connection: sqlite3.Connection, request: RefundRequest, cents: int, approved: bool
) -> Paid | NeedsApproval | RefundRefused:
    invoice = _find(connection, request.customer, request.invoice)
    if invoice is None:
        return RefundRefused(reason=f"{request.customer} has no invoice {request.invoice}.")
    key = (request.ticket, invoice.number)
    before = connection.execute(
        "SELECT id FROM refunds WHERE ticket = ? AND invoice = ? AND amount_cents = ?", (*key, cents)
    ).fetchone()
    if before is not None:
        return Paid(number=f"R-{before[0]}", again=True)
    if invoice.status != "paid":
        return RefundRefused(reason=f"{invoice.number} has not been paid yet, so there is nothing to refund.")
    left = invoice.total - invoice.refunded
    if _money(cents) > left:
        return RefundRefused(reason=f"Only {left} of {invoice.number} can still be refunded, not {_money(cents)}.")
    # Counted over the ticket and the invoice, or a large refund could be taken in slices.
    (so_far,) = connection.execute(
        "SELECT coalesce(sum(amount_cents), 0) FROM refunds WHERE (ticket = ? OR invoice = ?) AND NOT approved", key
    ).fetchone()
    if not approved and _money(so_far + cents) > APPROVAL_LIMIT:
        return NeedsApproval(limit=APPROVAL_LIMIT)
    entry = connection.execute(
        "INSERT INTO refunds (ticket, invoice, amount_cents, reason, approved) VALUES (?, ?, ?, ?, ?)",
        (*key, cents, request.reason, approved),
    )
    return Paid(number=f"R-{entry.lastrowid}")


def _find(connection: sqlite3.Connection, customer: str, number: str) -> Invoice | None:
    row = connection.execute(
        f"{_INVOICES} WHERE number = ? AND customer = ?", (number.strip().upper(), _email(customer))
    ).fetchone()
    return _invoice(row) if row else None


def _invoice(row: tuple[str, str, str, str, int, str, int]) -> Invoice:
    number, customer, issued, item, total, status, refunded = row
    return Invoice(
        number=number,
        customer=customer,
        issued=issued,
        item=item,
        total=_money(total),
        status=status,
        refunded=_money(refunded),
    )


def _email(text: str) -> str:
    return text.strip().lower()


def _money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def _cents(amount: Decimal) -> int | None:
    """Whole cents of a positive amount below a million, else None."""
    if not amount.is_finite() or not 0 < amount < 1_000_000:
        return None
    cents = amount.scaleb(2)
    return int(cents) if cents == cents.to_integral_value() else None
