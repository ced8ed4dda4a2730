"""US dollars as text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from turnwise.base.money import decimal_string, dollars


@pytest.mark.parametrize(
    ("amount", "exact", "short"),
    [("0", "0", "$0.0000"), ("1E-7", "0.0000001", "$0.0000"), ("1.2E+6", "1200000", "$1,200,000.0000")],
)
def test_an_amount_is_exact_for_programs_and_short_for_people(amount: str, exact: str, short: str) -> None:
    assert (decimal_string(Decimal(amount)), dollars(Decimal(amount))) == (exact, short)


def test_an_unknown_amount_is_none_and_a_dash() -> None:
    assert (decimal_string(None), dollars(None)) == (None, "-")
