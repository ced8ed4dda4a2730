"""The calls that wait for batches, and the batches, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.database.columns import now
from turnwise.record.database.provider_batch_tables import collected_asks, provider_batches
from turnwise.record.database.schema import asks
from turnwise.record.provider_batches.collecting import ASK_OF_CALL
from turnwise.record.transaction.part import RecordPart

# A batch may be made with it: it has none, and is not paused.
_may_go = sa.and_(collected_asks.c.batch_id.is_(None), sa.not_(ASK_IS_ONE_OF_THE_PAUSED))
_waiting = (collected_asks.c.response.is_(None), collected_asks.c.until > now())
_CALLS = (
    sa.select(
        sa.func.count(),
        sa.func.count(collected_asks.c.batch_id),
        sa.func.min(sa.case((_may_go, collected_asks.c.collected_at))),
    )
    .select_from(collected_asks.outerjoin(asks, ASK_OF_CALL))
    .where(*_waiting)
)
_BATCHES = sa.select(sa.func.count(), sa.func.min(provider_batches.c.look_at), now()).select_from(provider_batches)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchLaneState:
    """The calls that wait, `submitted` of them in one of so many `batches`.

    `oldest` is the seconds since the oldest call was collected that no batch has and no pause holds, and `overdue`
    those since a batch should have been looked at; 0 without one.
    """

    calls: int
    submitted: int
    batches: int
    oldest: float
    overdue: float


class BatchLane(RecordPart):
    """Looks without locks."""

    def batch_lane(self) -> BatchLaneState:
        """Return how much waits for batches of providers, and for how long."""
        with self._database.read() as connection:
            calls, submitted, collected_at = connection.execute(_CALLS).one()
            batches, look_at, at = connection.execute(_BATCHES).one()
        return BatchLaneState(
            calls=calls,
            submitted=submitted,
            batches=batches,
            oldest=0.0 if collected_at is None else max(0.0, at - collected_at),
            overdue=0.0 if look_at is None else max(0.0, at - look_at),
        )
