"""The receipts of an ask's handlers: a row for each call that a later attempt has to know of."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from turnwise.record.asks.replies import why_stale
from turnwise.record.database.rows import RECEIPT, receipt_of
from turnwise.record.database.schema import receipts
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.outcomes import Receipt
from turnwise.record.values.records import Claim

_OF_ASK = (
    sa.select(*RECEIPT)
    .where(receipts.c.run_id == sa.bindparam("run_id"), receipts.c.ask_id == sa.bindparam("ask_id"))
    .order_by(receipts.c.call_no)
)


class Receipts(RecordPart):
    """Keeps and reads receipts."""

    def receipts(self, run_id: str, ask_id: str) -> list[Receipt]:
        """The calls of an ask on record, by number."""
        with self._database.read() as connection:
            rows = connection.execute(_OF_ASK, {"run_id": run_id, "ask_id": ask_id})
            return [receipt_of(row) for row in rows]

    def keep_receipts(self, claim: Claim, kept: Sequence[Receipt]) -> bool:
        """Write receipts under the claim's token, over earlier ones of the same calls.

        False, and nothing is written, if the ask is no longer this claim's: its handlers must not continue.
        """
        with self._locked(claim.ask.run_id) as transaction:
            if why_stale(transaction, transaction.ask(claim.ask.id), claim) is not None:
                return False
            for receipt in kept:
                transaction.put_receipt(claim.ask.id, receipt, claim.token, claim.worker_id)
        return True
