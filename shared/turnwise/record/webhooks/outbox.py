"""The outbox: what coordinators take of it, send, and note.

A delivery that is taken becomes due again when the lease of whoever sends it is over. So it is sent at least once,
whoever dies; and it is noted only by whoever took it last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from turnwise.record.database.columns import now, word
from turnwise.record.database.rows import RUN, field_names, run_of
from turnwise.record.database.schema import documents, events, runs
from turnwise.record.database.webhook_tables import webhook_deliveries as table
from turnwise.record.database.webhook_tables import webhooks
from turnwise.record.transaction.part import RecordPart
from turnwise.record.upkeep.gauges import Backlog
from turnwise.record.values.records import EventRecord, Json
from turnwise.record.webhooks.deliveries import DELIVERY, delivery_of
from turnwise.record.webhooks.records import Attempted, DueDelivery, Parcel
from turnwise.record.webhooks.shares import Shares
from turnwise.record.webhooks.writing import disable

# Due deliveries that are looked at together to find some for receivers that are free.
_LOOK = 200
_PENDING = table.c.state == word("pending")
_MINE = (table.c.id == sa.bindparam("of_id"), table.c.attempts == sa.bindparam("of_attempt"), _PENDING)
_EVENT = tuple(events.c[name] for name in ("run_id", "seq", "type", "at", "path", "turn", "try_no", "ask_id", "data"))
# Of an origin such as https://example.com:443; its port may be any that a tenant chooses.
_HOST = sa.func.rtrim(
    sa.func.rtrim(sa.func.replace(sa.func.replace(webhooks.c.origin, "https://", ""), "http://", ""), "0123456789"), ":"
)
_DUE = (
    sa.select(table.c.id, table.c.webhook_id, table.c.tenant, _HOST)
    .join(webhooks, webhooks.c.id == table.c.webhook_id)
    .where(
        _PENDING,
        table.c.due_at <= now(),
        webhooks.c.disabled_at.is_(None),
        _HOST.not_in(sa.bindparam("busy_hosts", expanding=True)),
        table.c.tenant.not_in(sa.bindparam("busy_tenants", expanding=True)),
        table.c.id.not_in(sa.bindparam("chosen", expanding=True)),
    )
    .order_by(table.c.due_at)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_LOCK_RECEIVER = sa.select(webhooks.c.id).where(webhooks.c.id == sa.bindparam("of_webhook")).with_for_update()
_PARCEL = (
    sa.select(
        *DELIVERY,
        webhooks.c.url,
        webhooks.c.secret,
        sa.case((webhooks.c.previous_until > now(), webhooks.c.previous_secret)),
        now(),
        *_EVENT,
        documents.c.body,
        *RUN,
    )
    .select_from(table)
    .join(webhooks, webhooks.c.id == table.c.webhook_id)
    .outerjoin(runs, runs.c.id == table.c.run_id)
    .outerjoin(events, sa.and_(events.c.run_id == table.c.run_id, events.c.seq == table.c.seq))
    .outerjoin(documents, sa.and_(documents.c.run_id == events.c.run_id, documents.c.id == events.c.document_id))
    .where(table.c.id == sa.bindparam("of_id"), table.c.attempts == sa.bindparam("of_attempt"), _PENDING)
)
_KEEP_BODY = (
    sa.update(table)
    .where(table.c.id == sa.bindparam("of_id"))
    .values(body=sa.func.coalesce(table.c.body, sa.bindparam("made")))
    .returning(table.c.body)
)
_NOTE = {name: sa.bindparam(f"new_{name}", type_=table.c[name].type) for name in ("status_code", "response", "error")}
_DELIVERED = sa.update(table).where(*_MINE).values(**_NOTE, state="delivered", due_at=None, ended_at=now())
_AGAIN = sa.update(table).where(*_MINE).values(**_NOTE, due_at=now() + sa.bindparam("wait", type_=sa.Double))
_GIVEN_UP = sa.update(table).where(*_MINE).values(**_NOTE, state="parked", due_at=None, ended_at=now())


class Outbox(RecordPart):
    """Hands out what is due to be sent, and notes what became of it."""

    def take_deliveries(self, limit: int, lease: float, shares: Shares) -> list[DueDelivery]:
        """Take at most `limit` deliveries for `lease` seconds, the longest due first, as far as `shares` have room.

        Those that are chosen are counted in `shares`.
        """
        chosen = self._choose(limit, shares)
        if not chosen:
            return []
        free = sa.select(table.c.id).where(table.c.id.in_(list(chosen)), _PENDING, table.c.due_at <= now())
        take = (
            sa.update(table)
            .where(table.c.id.in_(free.with_for_update(skip_locked=True)))
            .values(attempts=table.c.attempts + 1, attempted_at=now(), due_at=now() + lease)
            .returning(table.c.id, table.c.attempts, now() - table.c.since)
        )
        with self._database.begin() as connection:
            taken = connection.execute(take).all()
        return [
            DueDelivery(
                id=id,
                webhook_id=chosen[id][0],
                tenant=chosen[id][1],
                host=chosen[id][2],
                attempt=attempt,
                tried_for=tried_for,
            )
            for id, attempt, tried_for in taken
        ]

    def _choose(self, limit: int, shares: Shares) -> dict[str, tuple[str, str, str]]:
        """Return the webhooks, tenants and hosts of the deliveries that are to be taken, by their ids.

        One tenant may have more that is due than one look reads. So it is looked again, without those that have become
        busy by what was chosen, until there is no more, or no room. Each look chooses one at least: its first.
        """
        chosen: dict[str, tuple[str, str, str]] = {}
        complete = False
        with self._database.read() as connection:
            while len(chosen) < limit and not complete:
                busy = {"busy_hosts": shares.busy_hosts, "busy_tenants": shares.busy_tenants}
                rows = connection.execute(_DUE, busy | {"chosen": list(chosen), "most": _LOOK}).all()
                complete = len(rows) < _LOOK
                for id, webhook_id, tenant, host in rows:
                    if len(chosen) < limit and shares.has_room(host, tenant):
                        shares.begin(host, tenant)
                        chosen[id] = (webhook_id, tenant, host)
        return chosen

    def parcel(self, due: DueDelivery) -> Parcel | None:
        """All that is needed to send a delivery; None if it is no longer the taker's, or its receiver is gone."""
        with self._database.read() as connection:
            row = connection.execute(_PARCEL, {"of_id": due.id, "of_attempt": due.attempt}).first()
        if row is None:
            return None
        delivery, rest = delivery_of(row[: len(DELIVERY)]), row[len(DELIVERY) :]
        (url, secret, previous, at), found = rest[:4], rest[4:]
        event, document, run = found[: len(_EVENT)], found[len(_EVENT)], found[len(_EVENT) + 1 :]
        return Parcel(
            delivery=delivery,
            url=url,
            secrets=(secret,) if previous is None else (secret, previous),
            run=None if run[0] is None else run_of(run),
            event=None if event[0] is None else _event(event, document),
            now=at,
        )

    def keep_body(self, due: DueDelivery, body: str) -> str:
        """Keep the body of a delivery as it is first sent, and return it, or the one that was kept before."""
        with self._database.begin() as connection:
            kept: str | None = connection.execute(_KEEP_BODY, {"of_id": due.id, "made": body}).scalar()
        return body if kept is None else kept

    def note_attempt(self, due: DueDelivery, found: Attempted, wait: float | None) -> bool:
        """Note what became of an attempt; False if another has taken the delivery meanwhile.

        One that failed is due again after `wait` seconds; with None it is parked. A receiver that is `gone` is
        disabled, and all that waits for it is parked.
        """
        given = {"of_id": due.id, "of_attempt": due.attempt, "new_status_code": found.status_code}
        given |= {"new_response": found.response, "new_error": found.error}
        again = not found.delivered and not found.gone and wait is not None
        statement = _DELIVERED if found.delivered else _AGAIN if again else _GIVEN_UP
        with self._database.begin() as connection:
            if found.gone:  # its row ahead of its deliveries, as all do that change a receiver
                connection.execute(_LOCK_RECEIVER, {"of_webhook": due.webhook_id})
            noted = connection.execute(statement, given | ({"wait": wait} if again else {})).rowcount == 1
            if noted and found.gone:
                disable(connection, due.webhook_id, "gone", "the receiver is gone: it answered 410 to another delivery")
        return noted

    def forget_deliveries(self, age: float, limit: int) -> int:
        """Delete deliveries that were delivered or parked so many seconds ago, at most `limit`, and return how many.

        And those that were due so long ago, and whose receiver was taken away, or disabled as long ago, while the
        event was written. Those of other receivers wait, however long no one sent them.
        """
        ended = sa.select(table.c.id).where(table.c.ended_at.is_not(None), table.c.ended_at <= now() - age)
        lately = sa.or_(webhooks.c.disabled_at.is_(None), webhooks.c.disabled_at > now() - age)
        awaited = sa.exists().where(webhooks.c.id == table.c.webhook_id, lately)
        left = sa.select(table.c.id).where(_PENDING, table.c.due_at <= now() - age, ~awaited)
        old = sa.union_all(ended, left).limit(limit)
        with self._database.begin() as connection:
            return connection.execute(sa.delete(table).where(table.c.id.in_(old))).rowcount


def _event(row: Sequence[Any], document: Json | None) -> EventRecord:
    return EventRecord(**dict(zip(field_names(_EVENT), row, strict=True)), document=document)


def _line(state: str, since: sa.Column[Any]) -> sa.Select[int, float]:
    return sa.select(sa.func.count(), now() - sa.func.min(since)).where(table.c.state == word(state))


_LINES = {
    # Those whose receiver was disabled or deleted while their events were written wait for no one.
    "pending": _line("pending", table.c.since)
    .join(webhooks, webhooks.c.id == table.c.webhook_id)
    .where(webhooks.c.disabled_at.is_(None)),
    "parked": _line("parked", table.c.ended_at),
}


class OutboxLines(RecordPart):
    """Counts what waits in the outbox; reads without locks."""

    def webhook_lines(self) -> dict[str, Backlog]:
        """Deliveries that are pending, and those that are parked: how many, and since when the first of them is."""
        with self._database.read() as connection:
            found = {state: connection.execute(statement).one() for state, statement in _LINES.items()}
        return {
            state: Backlog(length=length, oldest_age=max(age or 0.0, 0.0)) for state, (length, age) in found.items()
        }
