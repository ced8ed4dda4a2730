"""Makes 200 invoices in three layouts, a line of JSON each: `python documents.py > invoices.jsonl`.

A real batch would read them from files. These are the same each time, so that the outcome can be checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta

CUSTOMERS = ("Larkspur GmbH", "Northquay Ltd", "Okafor & Sons", "Vela S.A.")
ARTICLES = (("lamp", 40), ("chair", 75), ("desk", 220))


def invoice(number: int) -> str:
    """The text of an invoice."""
    customer = CUSTOMERS[number % len(CUSTOMERS)]
    day = date(2026, 1, 1) + timedelta(days=number)
    lines = [(1 + (number + at) % 5, *ARTICLES[at]) for at in range(1 + number % len(ARTICLES))]
    total = sum(pieces * price for pieces, _, price in lines)
    if number % 3 == 0:
        rows = "\n".join(f"{pieces} x {article} at {price}.00" for pieces, article, price in lines)
        return f"INVOICE INV-{number:04}\nTo: {customer}\nDate: {day}\n{rows}\nTotal: {total}.00 EUR"
    if number % 3 == 1:
        rows = ", ".join(f"{pieces} x {article} at {price}.00" for pieces, article, price in lines)
        return (
            f"Dear {customer}, on {day:%d.%m.%Y} you bought {rows}. Please pay {total}.00 EUR and name INV-{number:04}."
        )
    rows = "\n".join(f"| {article} | {pieces} x {article} at {price}.00 |" for pieces, article, price in lines)
    return f"No. INV-{number:04} | {day} | {customer}\n{rows}\nAmount due: EUR {total}.00"


def lines(count: int = 200) -> Iterator[str]:
    """Items of a batch: each with an id, which stands beside its result."""
    for number in range(1, count + 1):
        yield json.dumps({"id": f"doc-{number}", "message": invoice(number)}, ensure_ascii=False)


if __name__ == "__main__":
    print("\n".join(lines()))
