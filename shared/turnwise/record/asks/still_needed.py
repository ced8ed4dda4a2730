"""The check that long work still has a use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import sqlalchemy as sa

from turnwise.record.database import driver
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks, runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import FINISHED, UNFINISHED, AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.records import Claim

_BATCH = 500
# For more claims than this, naming each to the database costs more than to be told of all that the worker holds.
_FEW = 20
# What a worker holds that still has a use.
_WANTED = (
    sa.select(asks.c.run_id, asks.c.id, asks.c.token)
    .select_from(asks.join(runs, runs.c.id == asks.c.run_id))
    .where(
        asks.c.worker_id == sa.bindparam("by_worker"),
        asks.c.status == word(AskStatus.LEASED),
        status_in(runs.c.status, UNFINISHED),
        runs.c.cancel_requested_at.is_(None),
    )
)
_HELD = (
    sa.select(asks.c.run_id, asks.c.id, asks.c.token, asks.c.status, runs.c.status, runs.c.cancel_requested_at)
    .select_from(asks.join(runs, runs.c.id == asks.c.run_id))
    .where(sa.tuple_(asks.c.run_id, asks.c.id).in_(sa.bindparam("held", expanding=True)))
)


class StillNeeded(RecordPart):
    """Looks at many claims at once, without locks."""

    def unwanted(self, claims: Sequence[Claim]) -> list[tuple[Claim, Literal["ended", "lost"]]]:
        """The claims whose answer would be thrown away: their run has ended or is being cancelled, or another has them.

        An ask that is answered by now is not wanted either, and counts as lost.
        """
        if len(claims) > _FEW:
            claims = self._in_doubt(claims)
        found: list[tuple[Claim, Literal["ended", "lost"]]] = []
        for start in range(0, len(claims), _BATCH):
            batch = claims[start : start + _BATCH]
            with self._database.read() as connection:
                rows = connection.execute(_HELD, {"held": [(one.ask.run_id, one.ask.id) for one in batch]}).all()
            states = {(row[0], row[1]): row[2:] for row in rows}
            for claim in batch:
                token, status, run_status, cancelled_at = states.get(
                    (claim.ask.run_id, claim.ask.id), (None, None, None, None)
                )
                if run_status in FINISHED or cancelled_at is not None:
                    found.append((claim, "ended"))
                elif token != claim.token or status != AskStatus.LEASED:
                    found.append((claim, "lost"))
        return found

    def _in_doubt(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims that are not among what their worker holds and still has a use: few, as a rule none."""
        wanted: set[tuple[str, str, int]] = set()
        with self._database.read() as connection:
            for worker in {claim.worker_id for claim in claims}:
                wanted.update(driver.fetch(connection, _WANTED, {"by_worker": worker}))
        return [claim for claim in claims if (claim.ask.run_id, claim.ask.id, claim.token) not in wanted]
