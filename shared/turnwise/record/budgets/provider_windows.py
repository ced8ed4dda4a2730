"""The windows of providers' limits as rows, shared by all workers.

A bucket's row is locked last, after the run and its budgets, and by everybody who counts in it. How many calls are
under way is counted from rows that belong to claims, so a worker that dies gives its places back when its ask is taken
over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.models.limits.outage import PROBE_SECONDS, Outage
from turnwise.models.limits.provider import Target
from turnwise.models.limits.window import Caps, LimitKind, Room, Window
from turnwise.record.asks.pause_conditions import ASK_IS_PAUSED
from turnwise.record.budgets import waiting_calls
from turnwise.record.budgets.waiting_calls import WaitingCall
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import provider_buckets, provider_calls
from turnwise.record.database.columns import ONE, Document, Seconds, now, word
from turnwise.record.database.database import Database
from turnwise.record.database.schema import asks
from turnwise.record.states import AskStatus
from turnwise.record.values.outcomes import ProviderDown
from turnwise.record.values.records import AskRecord, Json, ProviderPlace

_buckets = provider_buckets
# No one says when the next call ends, but that it ended opens the bucket; this is for the case that no one could.
_LOOK_AGAIN = 2.0
# The same for a call in a worker that a place is kept for: the place is idle until it looks.
_LOOK_SOON = 0.5

_LOOK = sa.select(
    _buckets.c.caps, _buckets.c.window, _buckets.c.open_at, _buckets.c.open_for, _buckets.c.waiting
).where(_buckets.c.id == sa.bindparam("bucket"))
_LOCK = _LOOK.with_for_update()
_NOW = sa.select(now())
_SAVE = (
    sa.update(_buckets)
    .where(_buckets.c.id == sa.bindparam("of_bucket"))
    .values(
        caps=sa.bindparam("new_caps", type_=Document),
        window=sa.bindparam("new_window", type_=Document),
        open_at=sa.bindparam("new_open_at", type_=Seconds),
        open_for=sa.bindparam("new_open_for", type_=sa.Text),
        waiting=sa.bindparam("new_waiting", type_=Document),
    )
)
_UNDER_WAY = (
    sa.select(sa.func.count())
    .select_from(provider_calls)
    .join(
        asks,
        sa.and_(
            asks.c.run_id == provider_calls.c.run_id,
            asks.c.id == provider_calls.c.ask_id,
            asks.c.token == provider_calls.c.token,
            asks.c.status == word(AskStatus.LEASED),
        ),
    )
    .where(provider_calls.c.bucket == sa.bindparam("bucket"))
)
_LEFT_BEHIND = sa.delete(provider_calls).where(
    provider_calls.c.bucket == sa.bindparam("bucket"),
    ~sa.exists().where(
        asks.c.run_id == provider_calls.c.run_id,
        asks.c.id == provider_calls.c.ask_id,
        asks.c.token == provider_calls.c.token,
        asks.c.status == word(AskStatus.LEASED),
    ),
)
_BEGIN = sa.insert(provider_calls)
_END = sa.delete(provider_calls).where(
    provider_calls.c.bucket == sa.bindparam("bucket"),
    provider_calls.c.run_id == sa.bindparam("run_id"),
    provider_calls.c.ask_id == sa.bindparam("ask_id"),
    provider_calls.c.token == sa.bindparam("token"),
    provider_calls.c.call_no == sa.bindparam("call_no"),
)
_SOMEBODY_WAITS = (
    sa.select(sa.literal(1))
    .where(
        asks.c.bucket == sa.bindparam("bucket"),
        asks.c.status == word(AskStatus.RUNNABLE),
        sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
        sa.not_(ASK_IS_PAUSED),  # or the others would wait for the end of a pause
    )
    .limit(ONE)
)
# The buckets that no one is to be claimed for now.
CLOSED = sa.select(_buckets.c.id).where(_buckets.c.open_at > now())


class Bucket:
    """A bucket whose row this transaction holds; `save` writes what was changed."""

    def __init__(self, connection: Connection, id: str, row: Sequence[Any]) -> None:
        caps, window, open_at, open_for, waiting = row
        self._connection = connection
        self.id, self.caps, self.window = id, Caps(**caps), Window.load(window)
        self._open_at: float = open_at
        self.outage = Outage.load(open_for)
        self._open_for = None if self.outage is not None else open_for
        # Read after the lock, so that no one who waited for it counts at a time that is past.
        self.now = float(driver.fetch(connection, _NOW, {})[0][0])
        self._waiting = waiting_calls.load(waiting, self.now)

    @property
    def open_for(self) -> LimitKind:
        """The limit that those in line wait for."""
        if self.away:
            return "outage"
        return cast(LimitKind, self._open_for or "requests")

    @property
    def limits(self) -> Caps:
        """The limits that hold."""
        return self.window.caps(self.caps)

    @property
    def away(self) -> bool:
        """Return whether the provider is known not to answer."""
        return self.outage is not None and self.outage.away

    @property
    def binds(self) -> bool:
        """Return whether a call has to take a place: there are limits, or there may be, or the provider does not
        answer.
        """
        return self.limits.any or self.window.closed_until > 0 or self.outage is not None

    def room(self, tokens: int, ask: AskRecord, *, probing: bool = False) -> Room:
        """Return when a call of so many tokens under the ask has room; one that probes whether the provider is back
        heeds limits alone.

        Calls that wait in their workers and come before it have their places kept for them.
        """
        if self.away and not probing and self._open_at > self.now:
            return Room(at=self._open_at, limit="outage")
        room = self._room(tokens, before := self._before(ask))
        if room.limit is None or not before:
            return room
        # A place may be free already, and is, as soon as those that it is kept for are given up.
        return Room(at=min(room.at, *(call.until for call in before)), limit=room.limit)

    def _room(self, tokens: int, before: Sequence[WaitingCall]) -> Room:
        limits, window = self.limits, self.window
        for call in before:
            window, _ = window.take(limits, call.tokens, self.now)
        room = window.room(limits, tokens, self.now)
        if room.limit is not None or limits.concurrency is None:
            return room
        if self._under_way() + len(before) < limits.concurrency:
            return room
        return Room(at=self.now + _LOOK_AGAIN, limit="concurrency")

    def _before(self, ask: AskRecord) -> list[WaitingCall]:
        return [call for call in self._waiting if call.comes_before(ask)]

    def wait_in_place(self, ask: AskRecord, tokens: int, room: Room) -> Room:
        """Note that a call under the ask waits in its worker for that room, and return when it is to look again."""
        is_kept_one = len(self._before(ask)) < (self.limits.concurrency or 1)
        if is_kept_one and room.limit in ("tokens", "concurrency"):  # no one knows when a call ends, and what it used
            room = Room(at=min(room.at, self.now + _LOOK_SOON), limit=room.limit)
        others = [call for call in self._waiting if not call.is_of(ask)]
        self._waiting = (*others, WaitingCall.of(ask, tokens, self.now, room.at))
        self.save()
        return room

    def somebody_waits(self) -> bool:
        """Return whether an ask stands in line, which only a claim may let through."""
        return bool(driver.fetch(self._connection, _SOMEBODY_WAITS, {"bucket": self.id}))

    def take(self, ask: AskRecord, token: int, tokens: int, call_no: str) -> ProviderPlace:
        """Count a call under that claim of the ask; there has to be room."""
        limits = self.limits
        if limits.concurrency is not None:
            driver.run(self._connection, _BEGIN, [self._call(ask, token, call_no)])
        self.window, place = self.window.take(limits, tokens, self.now)
        self._waiting = tuple(call for call in self._waiting if not call.is_of(ask))
        if self.away:
            self._open_at = self.now + PROBE_SECONDS
        self.save()
        return ProviderPlace(
            bucket=self.id,
            caps=limits,
            window=self.window,
            place=place,
            call_no=call_no,
            probes=self.outage is not None,
        )

    def new_ask_probes(self) -> bool:
        """Let an ask that has not failed probe whether the provider is back, if none did lately."""
        if self.outage is None or not self.outage.may_probe(self.now):
            return False
        self.outage = self.outage.probed(self.now)
        return True

    def failed(self, run_id: str, down: ProviderDown) -> float | None:
        """A call of the run got no answer; seconds until someone in line probes again.

        None if that run alone has failed, so that it waits by a time of its own.
        """
        if self.away and self._open_at > self.now and not down.probed:
            return self._open_at - self.now  # it began before the others had failed
        before = self.outage or Outage()
        wait = down.wait(before.probes + 1)
        answered = None if down.answered is None else self.now - down.answered
        after = before.failed(run_id, self.now, wait, began=self.now - down.lasted, answered=answered)
        if after is None:
            if before.away:
                self._open_at = self.now  # the others may probe
        else:
            self.outage = after
            self._open_at = self.now + wait if after.away else self._open_at
        self.save()
        return wait if after is not None and after.away else None

    def answered(self) -> bool:
        """Let everybody continue, because the provider answered a call. Return whether it was away for long."""
        if self.outage is None:
            return False
        was_long, self.outage = self.outage.long, None
        self._open_at = self.window.closed_until
        self.save()
        return was_long

    def leave(self, ask: AskRecord, token: int, held: ProviderPlace) -> None:
        """The call has ended: let the next in line look."""
        if held.caps.concurrency is not None:
            driver.run(self._connection, _END, [self._call(ask, token, held.call_no)])
        if self._open_for in ("tokens", "concurrency") and self.window.closed_until <= self.now:
            self._open_at, self._open_for = 0.0, None
        self.save()

    def close(self, room: Room) -> None:
        """Let no one be claimed for this provider before there is room."""
        self._open_at, self._open_for = room.at, room.limit if room.limit != "outage" else self._open_for
        self.save()

    def limit_to(self, caps: Caps) -> None:
        """Hold to these limits from now on, those in line as well; what was closed by others is looked at again."""
        if caps == self.caps:
            return
        self.caps = caps
        if self._open_for in ("requests", "tokens", "concurrency") and self.window.closed_until <= self.now:
            self._open_at, self._open_for = 0.0, None
        self.save()

    def save(self) -> None:
        """Write the row."""
        values = {"new_caps": asdict(self.caps), "new_window": self.window.dump()}
        reason = self.outage.dump() if self.outage is not None else self._open_for
        opening = {"new_open_at": self._open_at, "new_open_for": reason}
        waiting = {"new_waiting": waiting_calls.dump(self._waiting)}
        driver.run(self._connection, _SAVE, [{"of_bucket": self.id} | values | opening | waiting])

    def places(self, most: int) -> int:
        """Return how many calls have room at once, as far as that is known; at most `most`."""
        limits = self.limits
        if self._open_at > self.now:
            return 0
        if self.away:
            most = min(most, 1)
        places = self.window.places(limits, self.now)
        if places is not None:
            most = min(most, places)
        if limits.concurrency is not None:
            most = min(most, limits.concurrency - self._under_way())
        return most

    def _call(self, ask: AskRecord, token: int, call_no: str) -> Json:
        return {"bucket": self.id, "run_id": ask.run_id, "ask_id": ask.id, "token": token, "call_no": call_no}

    def _under_way(self) -> int:
        return int(driver.fetch(self._connection, _UNDER_WAY, {"bucket": self.id})[0][0])

    def forget_the_dead(self) -> None:
        """Delete the rows of calls that are no longer made."""
        driver.run(self._connection, _LEFT_BEHIND, [{"bucket": self.id}])


def lock(connection: Connection, bucket: str) -> Bucket | None:
    """The bucket, locked; None if there is none."""
    rows = driver.fetch(connection, _LOCK, {"bucket": bucket})
    return Bucket(connection, bucket, rows[0]) if rows else None


def lock_or_make(database: Database, connection: Connection, target: Target) -> Bucket:
    """The bucket of a target, locked, with the limits that are configured now."""
    provider = target.provider
    found = lock(connection, provider.id)
    if found is None:
        values = {
            "id": provider.id,
            "server": provider.server,
            "model": provider.model,
            "account": provider.account,
            "caps": asdict(target.caps),
            "window": Window().dump(),
        }
        connection.execute(database.insert(_buckets).values(values).on_conflict_do_nothing())
        found = lock(connection, provider.id)
        assert found is not None, "it was just made, and buckets are never deleted"
    found.limit_to(target.caps)
    return found


def look(connection: Connection, bucket: str) -> Bucket | None:
    """The bucket as it is, without a lock, to be read only."""
    rows = driver.fetch(connection, _LOOK, {"bucket": bucket})
    return Bucket(connection, bucket, rows[0]) if rows else None
