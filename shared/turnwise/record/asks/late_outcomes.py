"""The outcome of a claim that is no longer held: another has the ask, or the same outcome was written before.

The second is so where the answer to a commit was lost, and its writer has tried again.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.budgets.settlement import count_and_tell
from turnwise.record.database.columns import word
from turnwise.record.database.schema import events
from turnwise.record.events.ask_events import AskDeferred, AskParked, AskReleased
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Deferral, Parking
from turnwise.record.values.records import Claim

_OUTCOMES = sa.select(events.c.data).where(
    events.c.run_id == sa.bindparam("of_run"),
    events.c.ask_id == sa.bindparam("of_ask"),
    events.c.type.in_([word(event.type) for event in (AskDeferred, AskParked, AskReleased)]),
)


def is_on_record(transaction: RunTransaction, claim: Claim) -> bool:
    """Return whether the claim itself has deferred, parked or released its ask."""
    rows = transaction.connection.execute(_OUTCOMES, {"of_run": claim.ask.run_id, "of_ask": claim.ask.id}).scalars()
    own = (claim.worker_id, claim.ask.claimed_at)
    return any((data.get("worker"), data.get("claimed_at")) == own for data in rows)


def count_late(transaction: RunTransaction, claim: Claim, outcome: Deferral | Parking) -> bool:
    """Count what the attempt used, unless its outcome is on record; return whether it is."""
    if is_on_record(transaction, claim):
        return True
    count_and_tell(transaction, claim.ask, claim.token, outcome.usage, outcome.calls)
    return False
