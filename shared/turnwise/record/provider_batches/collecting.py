"""The rows of calls that wait for a batch: written with the deferral of their ask, deleted with its reply."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from turnwise.record.database import driver
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.database.schema import asks
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import CollectedRequest
from turnwise.record.values.records import AskRecord, Claim, Json

# The ask of a call, to join the two tables by.
ASK_OF_CALL = sa.and_(asks.c.run_id == collected_asks.c.run_id, asks.c.id == collected_asks.c.ask_id)
_row = (collected_asks.c.run_id == sa.bindparam("of_run"), collected_asks.c.ask_id == sa.bindparam("of_ask"))
_INSERT = sa.insert(collected_asks)
_FORGET = sa.delete(collected_asks).where(*_row).returning(collected_asks.c.token, collected_asks.c.call_no)
_OF_ASK = sa.select(collected_asks.c.until, collected_asks.c.response, collected_asks.c.usage).where(*_row)


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedAsk:
    """A call that waits for a batch at most `until` then; `response` is the provider's, once it is there, and `usage`
    what that used.
    """

    until: float
    response: Json | None
    usage: Json | None


class CollectedAsks(RecordPart):
    """The calls that wait, for those who claim their asks."""

    def collected(self, claim: Claim) -> CollectedAsk | None:
        """The call of a claimed ask that waits, or waited, for a batch; None if there is none."""
        given = {"of_run": claim.ask.run_id, "of_ask": claim.ask.id}
        with self._database.read() as connection:
            row = connection.execute(_OF_ASK, given).first()
        return None if row is None else CollectedAsk(until=row[0], response=row[1], usage=row[2])


def keep_request(transaction: RunTransaction, ask: AskRecord, token: int, request: CollectedRequest) -> None:
    """Write a call that is to wait for a batch, over what there is of an earlier one of the ask."""
    place = {"of_run": ask.run_id, "of_ask": ask.id}
    driver.run_one(transaction.connection, sa.delete(collected_asks).where(*_row), place)
    row = {
        "run_id": ask.run_id,
        "ask_id": ask.id,
        "provider": request.provider,
        "model": request.model,
        "request": request.body,
        "token": None if request.call_no is None else token,
        "call_no": request.call_no,
        "collected_at": transaction.now,
        "until": request.until,
    }
    driver.run(transaction.connection, _INSERT, [row])


def forget_request(transaction: RunTransaction, ask: AskRecord) -> tuple[int | None, int | None] | None:
    """Delete the call of an ask, whose usage is being counted; the token and number that it was reserved under.

    None if there is no such call: it was counted before.
    """
    rows = driver.fetch(transaction.connection, _FORGET, {"of_run": ask.run_id, "of_ask": ask.id})
    return (rows[0][0], rows[0][1]) if rows else None
