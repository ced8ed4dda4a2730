"""The books of the support desk: what may be paid, to whom, how often."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from turnwise.demo.ledger import Ledger, NeedsApproval, Paid, RefundRefused, RefundRequest
from turnwise.errors import ConfigurationError

OKAFOR = "b.okafor@northquay.test"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def request(
    amount: str, invoice: str = "INV-1004", customer: str = OKAFOR, ticket: str = "T-1", reason: str = "asked for"
) -> RefundRequest:
    return RefundRequest(ticket=ticket, customer=customer, invoice=invoice, amount=Decimal(amount), reason=reason)


def test_a_refund_up_to_the_limit_is_paid_and_shown_on_the_invoice(ledger: Ledger) -> None:
    assert ledger.refund(request("100.00")) == Paid(number="R-1")

    invoice = ledger.invoice_of(OKAFOR, "inv-1004")
    assert invoice is not None
    assert invoice.refunded == Decimal("100.00")
    assert ledger.refunded_in("T-1") == Decimal("100.00")


def test_a_refund_above_the_limit_is_paid_only_when_approved(ledger: Ledger) -> None:
    assert ledger.refund(request("100.01")) == NeedsApproval(limit=Decimal("100.00"))
    assert ledger.refunded_in("T-1") == 0

    assert ledger.refund(request("100.01"), approved=True) == Paid(number="R-1")


def test_a_large_refund_in_slices_needs_the_approval_too(ledger: Ledger) -> None:
    ledger.refund(request("60.00"))

    assert isinstance(ledger.refund(request("60.01")), NeedsApproval)
    assert isinstance(ledger.refund(request("60.01", ticket="T-2")), NeedsApproval)


def test_the_same_refund_of_a_ticket_is_paid_once(ledger: Ledger) -> None:
    ledger.refund(request("40.00"))

    assert ledger.refund(request("40.00")) == Paid(number="R-1", again=True)
    assert ledger.refunded_in("T-1") == Decimal("40.00")


def test_another_customers_invoice_looks_like_an_unknown_one(ledger: Ledger) -> None:
    stranger = "mallory@shade.test"

    assert ledger.invoice_of(stranger, "INV-1004") is None
    assert ledger.refund(request("1.00", customer=stranger), approved=True) == RefundRefused(
        reason="mallory@shade.test has no invoice INV-1004."
    )


def test_no_more_than_the_invoice_is_paid_back_even_with_approval(ledger: Ledger) -> None:
    ledger.refund(request("540.00"), approved=True)

    assert isinstance(ledger.refund(request("0.01"), approved=True), RefundRefused)


def test_an_invoice_that_was_not_paid_is_not_refunded(ledger: Ledger) -> None:
    assert isinstance(ledger.refund(request("1.00", "INV-1011", "tom.ellery@fernmail.test")), RefundRefused)


@pytest.mark.parametrize("amount", ["0", "-5", "0.001", "NaN", "Infinity", "1e30"])
def test_what_is_no_amount_is_refused(ledger: Ledger, amount: str) -> None:
    assert isinstance(ledger.refund(request(amount), approved=True), RefundRefused)


def test_many_threads_that_start_on_no_file_pay_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda _: Ledger(tmp_path).refund(request("40.00")), range(16)))

    assert sum(verdict == Paid(number="R-1") for verdict in verdicts) == 1
    assert Ledger(tmp_path).refunded_in("T-1") == Decimal("40.00")


def test_a_place_that_can_not_be_written_to_is_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="TURNWISE_DEMO_DIR"):
        Ledger(tmp_path / "file").invoices_of(OKAFOR)
