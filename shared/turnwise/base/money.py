"""US dollars as text: exact for programs, short for people."""

from __future__ import annotations

from decimal import Decimal
from typing import overload


@overload
def decimal_string(amount: Decimal) -> str: ...
@overload
def decimal_string(amount: Decimal | None) -> str | None: ...
def decimal_string(amount: Decimal | None) -> str | None:
    """The exact amount as JSON has it, without an exponent; None stays None."""
    return None if amount is None else format(amount, "f")


def dollars(amount: Decimal | None) -> str:
    """The amount as people read it; a dash where no price is known."""
    return "-" if amount is None else f"${amount:,.4f}"
