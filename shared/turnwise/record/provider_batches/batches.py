"""Batches of calls: made of what is collected, leased to one worker at a time, and deleted at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.record.asks.pause_conditions import ASK_IS_ONE_OF_THE_PAUSED
from turnwise.record.database.columns import ONE, dump_json, now, word
from turnwise.record.database.provider_batch_tables import collected_asks, provider_batches
from turnwise.record.database.schema import asks, workers
from turnwise.record.database.status_statements import status_in
from turnwise.record.provider_batches.collecting import ASK_OF_CALL
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.records import Json

# The calls that are written into one file, in bytes; providers take 200 MB.
_MOST_BYTES = 100_000_000
# A pause holds the call back as it would hold back the claim of an ask whose call is direct.
_WAITS = sa.and_(asks.c.status == word(AskStatus.RUNNABLE), sa.not_(ASK_IS_ONE_OF_THE_PAUSED))
_WANTED = status_in(asks.c.status, (AskStatus.RUNNABLE, AskStatus.LEASED))
_COLLECTED = (
    collected_asks.c.batch_id.is_(None),
    collected_asks.c.response.is_(None),
    collected_asks.c.until > now(),
)
_of_providers: sa.BindParameter[str] = sa.bindparam("providers", expanding=True)
# With the asks, as below: calls of runs that have ended meanwhile, or are paused, count for nothing.
_READY = (
    sa.select(collected_asks.c.provider)
    .join(asks, ASK_OF_CALL)
    .where(*_COLLECTED, collected_asks.c.provider.in_(_of_providers), _WAITS)
    .group_by(collected_asks.c.provider)
    .having(
        sa.or_(
            sa.func.count() >= sa.bindparam("most", type_=sa.Integer),
            sa.func.min(collected_asks.c.collected_at) <= now() - sa.bindparam("seconds", type_=sa.Double),
        )
    )
    .order_by(sa.func.min(collected_asks.c.collected_at))
)
_NEXT = (
    sa.select(collected_asks.c.run_id, collected_asks.c.ask_id, collected_asks.c.request, collected_asks.c.model)
    .join(asks, ASK_OF_CALL)
    .where(*_COLLECTED, collected_asks.c.provider == sa.bindparam("of_provider"), _WAITS)
    .order_by(collected_asks.c.collected_at)
    .limit(sa.bindparam("most", type_=sa.Integer))
    .with_for_update(of=collected_asks, skip_locked=True)
)
_JOIN = (
    sa.update(collected_asks)
    .where(collected_asks.c.run_id == sa.bindparam("of_run"), collected_asks.c.ask_id == sa.bindparam("of_ask"))
    .values(batch_id=sa.bindparam("of_batch", type_=sa.Text))
)
_by_id = provider_batches.c.id == sa.bindparam("of_batch", type_=sa.Text)
_HOLD_BACK = (
    sa.update(collected_asks)
    .where(
        collected_asks.c.batch_id == sa.bindparam("of_batch", type_=sa.Text),
        sa.exists().where(ASK_OF_CALL, ASK_IS_ONE_OF_THE_PAUSED),
        sa.exists().where(
            _by_id,
            provider_batches.c.leased_by == sa.bindparam("holder", type_=sa.Text),
            provider_batches.c.remote_id.is_(None),
        ),
    )
    .values(batch_id=None)
)
_FREE = sa.or_(
    provider_batches.c.leased_until <= now(),
    ~sa.exists().where(workers.c.id == provider_batches.c.leased_by, workers.c.state == word("alive")),
)
# A process works on one batch at a time, so what it holds when it looks for another is left from work that failed.
_LEFT_OR_FREE = sa.or_(_FREE, provider_batches.c.leased_by == sa.bindparam("holder", type_=sa.Text))
_DUE = (
    sa.select(provider_batches.c.id)
    .where(
        provider_batches.c.provider.in_(_of_providers),
        provider_batches.c.look_at <= now(),
        _LEFT_OR_FREE,
    )
    .order_by(provider_batches.c.look_at)
    .limit(ONE)
    .with_for_update(skip_locked=True)
)
_BATCH = (
    *(provider_batches.c.id, provider_batches.c.provider, provider_batches.c.model),
    *(provider_batches.c.created_at, provider_batches.c.remote_id, provider_batches.c.looks),
)
_LEASE = (
    sa.update(provider_batches)
    .where(_by_id, _LEFT_OR_FREE)
    .values(
        leased_by=sa.bindparam("holder", type_=sa.Text), leased_until=now() + sa.bindparam("lease", type_=sa.Double)
    )
    .returning(*_BATCH)
)
_LINES = (
    sa.select(
        collected_asks.c.run_id,
        collected_asks.c.ask_id,
        collected_asks.c.request,
        sa.case((_WANTED, sa.true()), else_=sa.false()),
    )
    .outerjoin(asks, ASK_OF_CALL)
    .where(collected_asks.c.batch_id == sa.bindparam("of_batch"))
    .order_by(collected_asks.c.collected_at, collected_asks.c.ask_id)
)
_PROVIDERS = sa.union(
    sa.select(collected_asks.c.provider, collected_asks.c.model),
    sa.select(provider_batches.c.provider, provider_batches.c.model),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchedCall:
    """A call of a batch. `wanted`: its ask still waits for it."""

    run_id: str
    ask_id: str
    request: Json
    wanted: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderBatch:
    """A batch, as its row has it; `remote_id` is the provider's own name for it, None while no one knows one."""

    id: str
    provider: str
    model: str
    created_at: float
    remote_id: str | None
    looks: int


class ProviderBatches(RecordPart):
    """The batches of the providers whose keys a worker has. What it leases, no other worker looks at meanwhile."""

    def batching_providers(self) -> dict[str, str]:
        """Return the providers that calls wait for, by their buckets, each with a name of the model that it has."""
        with self._database.read() as connection:
            return {row.provider: row.model for row in connection.execute(_PROVIDERS)}

    def open_batch(
        self, providers: Sequence[str], most: int, seconds: float, holder: str, lease: float
    ) -> ProviderBatch | None:
        """Make a batch of what is collected for one of these providers, leased to `holder` for `lease` seconds.

        None while no provider has `most` calls, or one that is `seconds` old. What is paused is left out.
        """
        if not providers:
            return None
        with self._database.begin() as connection:
            given = {"providers": list(providers), "most": most, "seconds": seconds}
            for provider in connection.execute(_READY, given).scalars().all():
                rows = _within_bytes(connection.execute(_NEXT, {"of_provider": provider, "most": most}))
                if not rows:  # others are at it, or their asks have ended
                    continue
                batch = self._write(connection, provider, rows[0][3], holder, lease)
                connection.execute(_JOIN, [{"of_run": row[0], "of_ask": row[1], "of_batch": batch.id} for row in rows])
                return batch
        return None

    def due_batch(self, providers: Sequence[str], holder: str, lease: float) -> ProviderBatch | None:
        """A batch that is to be looked at, leased to `holder` for `lease` seconds; None if there is none.

        It may be one that another worker was lost with before it could be submitted, or one that `holder` could not
        finish with: a process works on one batch at a time.
        """
        if not providers:
            return None
        with self._database.begin() as connection:
            due = connection.execute(_DUE, {"providers": list(providers), "holder": holder}).scalar()
            given = {"of_batch": due, "holder": holder, "lease": lease}
            row = None if due is None else connection.execute(_LEASE, given).first()
        return None if row is None else ProviderBatch(**row._mapping)

    def hold_back_paused(self, batch_id: str, holder: str) -> None:
        """Take what was paused meanwhile out of a batch that its provider does not have; it waits for another one.

        Nothing is done if `holder` was taken for dead and another has the batch.
        """
        with self._database.begin() as connection:
            connection.execute(_HOLD_BACK, {"of_batch": batch_id, "holder": holder})

    def batched_calls(self, batch_id: str) -> list[BatchedCall]:
        """The calls of a batch that have no response yet."""
        with self._database.read() as connection:
            rows = connection.execute(_LINES, {"of_batch": batch_id}).all()
        return [BatchedCall(run_id=row[0], ask_id=row[1], request=row[2], wanted=bool(row[3])) for row in rows]

    def note_submitted(self, batch_id: str, holder: str, remote_id: str, file_id: str, look_in: float) -> bool:
        """Keep the provider's names of a batch, which is looked at in so many seconds.

        False, and nothing is written, if `holder` was taken for dead and another has it.
        """
        values = {"remote_id": remote_id, "file_id": file_id, "submitted_at": now(), "looks": 0}
        return self._change(batch_id, holder, look_in, values)

    def look_again(self, batch_id: str, holder: str, look_in: float) -> None:
        """Leave a batch to whoever looks at it in so many seconds."""
        self._change(batch_id, holder, look_in, {"looks": provider_batches.c.looks + 1})

    def holds_batch(self, batch_id: str, holder: str) -> bool:
        """Return whether the batch is there and leased to `holder`."""
        held = sa.select(provider_batches.c.id).where(_by_id, provider_batches.c.leased_by == holder)
        with self._database.read() as connection:
            return connection.execute(held, {"of_batch": batch_id}).scalar() is not None

    def close_batch(self, batch_id: str) -> None:
        """Delete a batch that no call waits for."""
        with self._database.begin() as connection:
            connection.execute(sa.delete(provider_batches).where(_by_id), {"of_batch": batch_id})

    def _change(self, batch_id: str, holder: str, look_in: float, values: Json) -> bool:
        statement = sa.update(provider_batches).where(_by_id, provider_batches.c.leased_by == holder)
        changed = statement.values(look_at=now() + look_in, leased_by=None, leased_until=0.0, **values)
        with self._database.begin() as connection:
            return bool(connection.execute(changed, {"of_batch": batch_id}).rowcount)

    def _write(self, connection: Connection, provider: str, model: str, holder: str, lease: float) -> ProviderBatch:
        at = self._database.now(connection)
        batch = ProviderBatch(
            id=new_id("pbatch"), provider=provider, model=model, created_at=at, remote_id=None, looks=0
        )
        row = {"id": batch.id, "provider": provider, "model": model, "created_at": at}
        connection.execute(
            sa.insert(provider_batches).values(**row, look_at=at, leased_by=holder, leased_until=at + lease)
        )
        return batch


def _within_bytes(rows: Any) -> list[Sequence[Any]]:
    """The first calls, as far as they have room in a file; one that is too large by itself is sent alone."""
    found: list[Sequence[Any]] = []
    size = 0
    for row in rows:
        size += len(dump_json(row[2]).encode())
        if found and size > _MOST_BYTES:
            break
        found.append(row)
    return found
