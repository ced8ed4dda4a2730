"""Places with providers: taken before a call, released after it."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors.rate_limits import RateLimits
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Room
from turnwise.record.asks.pause_conditions import ASK_IS_PAUSED
from turnwise.record.budgets.provider_windows import Bucket, lock, lock_or_make, look
from turnwise.record.database import driver
from turnwise.record.database.columns import now, parts_of, word
from turnwise.record.database.database import Database
from turnwise.record.database.rows import ASK, ask_of
from turnwise.record.database.schema import asks, runs
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.outcomes import ProviderDown
from turnwise.record.values.records import AskRecord, Claim, ProviderPlace

Known = Literal["limits", "outage"]

# Asks that are woken at once, at the end of an outage; the others continue by themselves within minutes.
_WOKEN = 1_000
_WAITED_FOR = (
    sa.select(asks.c.bucket)
    .where(
        asks.c.queue == sa.bindparam("of_queue"), asks.c.status == word(AskStatus.RUNNABLE), asks.c.bucket.is_not(None)
    )
    .distinct()
)
_IN_LINE = (
    sa.select(*ASK)
    .where(
        asks.c.bucket == sa.bindparam("of_bucket"),
        asks.c.queue == sa.bindparam("of_queue"),
        asks.c.status == word(AskStatus.RUNNABLE),
        sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
        sa.not_(ASK_IS_PAUSED),
    )
    .order_by(asks.c.priority.desc(), asks.c.created_at)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_IN_LINE_PINNED = _IN_LINE.where(
    sa.exists().where(runs.c.id == asks.c.run_id, runs.c.version == sa.bindparam("version"))
)
# Others that stood in this line wait for a budget by now, or for as long as the provider asked for.
# Whoever holds one of these asks is at it already. Waiting for him here, with the bucket locked, could be a deadlock.
_ASLEEP = (
    sa.select(asks.c.run_id, asks.c.id)
    .join(runs, runs.c.id == asks.c.run_id)
    .where(
        asks.c.bucket == sa.bindparam("of_bucket"),
        asks.c.status == word(AskStatus.RUNNABLE),
        asks.c.due_at > now(),
        parts_of(runs.c.waiting_for)["kind"].as_string() == "outage",
    )
    .order_by(asks.c.created_at)
    .limit(_WOKEN)
    .with_for_update(of=asks, skip_locked=True)
    .subquery()
)
_WAKE = (
    sa.update(asks)
    .where(
        sa.tuple_(asks.c.run_id, asks.c.id).in_(sa.select(_ASLEEP.c.run_id, _ASLEEP.c.id)),
        asks.c.status == word(AskStatus.RUNNABLE),
    )
    .values(due_at=None)
)


class Providers(RecordPart):
    """The buckets of providers, for workers."""

    def provider_known(self, provider: Provider) -> Known | None:
        """Return what is known of the provider that binds its calls: that one of them failed, or limits; None for
        nothing.
        """
        with self._database.read() as connection:
            bucket = look(connection, provider.id)
            if bucket is None or not bucket.binds:
                return None
            return "limits" if bucket.outage is None else "outage"

    def take_place(
        self, connection: Connection, claim: Claim, target: Target, tokens: int, call_no: str, *, in_place: bool
    ) -> ProviderPlace | Room:
        """A place for a call under `claim`, or when there may be one, in a transaction of the caller's.

        The caller takes no lock after this one. Whoever stands in line comes first, but for calls that wait `in_place`:
        those wait in their worker, which is another's place already. They are noted, so that those in line who come
        after them leave them their places. They wait for limits, and not for a provider that does not answer.
        """
        bucket = lock_or_make(self._database, connection, target)
        probing = bucket.away and (in_place or bucket.new_ask_probes())
        room = bucket.room(tokens, claim.ask, probing=probing)
        if room.limit is None and not probing and not in_place and bucket.somebody_waits():
            return Room(at=bucket.now, limit=bucket.open_for)
        if room.limit is None:
            return bucket.take(claim.ask, claim.token, tokens, call_no)
        return bucket.wait_in_place(claim.ask, tokens, room) if in_place else room

    def settle_place(
        self,
        claim: Claim,
        held: ProviderPlace,
        tokens: int,
        announced: RateLimits | None,
        *,
        answered: bool = True,
    ) -> None:
        """Count what the call used, and learn from what came with its answer, if it was `answered`."""
        if announced is not None and _old_news(announced, held):
            announced = None
        limited = held.caps.tokens is not None or held.caps.concurrency is not None
        if announced is None and not limited and not held.probes:
            return
        with self._database.begin() as connection:
            bucket = lock(connection, held.bucket)
            if bucket is not None:
                bucket.window = bucket.window.settle(held.caps, held.place, tokens)
                if announced is not None:
                    bucket.window = bucket.window.announced(announced, held.place)
                if answered and held.probes:
                    _go_on(connection, bucket)
                bucket.leave(claim.ask, claim.token, held)

    def provider_answered(self, bucket_id: str) -> None:
        """A provider of which failed calls are on record answered one, if only with a refusal."""
        with self._database.begin() as connection:
            bucket = lock(connection, bucket_id)
            if bucket is not None:
                _go_on(connection, bucket)

    def release_place(self, claim: Claim, held: ProviderPlace) -> None:
        """The call was not made."""
        with self._database.begin() as connection:
            bucket = lock(connection, held.bucket)
            if bucket is not None:
                bucket.window = bucket.window.release(held.caps, held.place)
                bucket.leave(claim.ask, claim.token, held)

    def learn_limits(self, target: Target, announced: RateLimits, tokens: int) -> None:
        """Remember what a provider announced to a call of so many tokens that was made without a place."""
        with self._database.begin() as connection:
            bucket = lock_or_make(self._database, connection, target)
            bucket.window = bucket.window.met(bucket.limits, announced, tokens, bucket.now)
            bucket.save()

    def close_provider(self, target: Target, announced: RateLimits | None) -> float:
        """The provider said 429: let no one through before it may have room again, in so many seconds."""
        with self._database.begin() as connection:
            bucket = lock_or_make(self._database, connection, target)
            bucket.window = bucket.window.refused(announced, bucket.now)
            bucket.close(Room(at=bucket.window.closed_until, limit="requests"))
            return bucket.window.closed_until - bucket.now


class ProviderLines(RecordPart):
    """The asks that wait for room with a provider."""

    def next_in_line(
        self, queue: str, most: int, bucket: str | None = None, version: str | None = None
    ) -> list[AskRecord]:
        """Asks of the queue that wait for providers which have room, no more of each than that has places.

        With `version`, asks of runs that began with it alone.
        """
        found: list[AskRecord] = []
        query = _IN_LINE if version is None else _IN_LINE_PINNED
        with self._database.read() as connection:
            given = {"of_queue": queue}
            named = [bucket] if bucket else [row[0] for row in driver.fetch(connection, _WAITED_FOR, given)]
            for name in named:
                known = look(connection, name)
                places = most if known is None else known.places(most)
                if places > 0:
                    asked = {"of_bucket": name, "most": places} | ({"version": version} if version else {})
                    rows = driver.fetch(connection, query, given | asked)
                    found += [ask_of(row) for row in rows]
        return found[:most]


def wait_for_room(database: Database, connection: Connection, ask: AskRecord, wait: ProviderWait) -> None:
    """Close the bucket, if it has no room for a call that was deferred; its ask is marked by the caller."""
    bucket = lock_or_make(database, connection, wait.target)
    bucket.forget_the_dead()
    room = bucket.room(wait.tokens, ask)
    if room.limit is not None:
        bucket.close(room)


def note_failure(
    database: Database, connection: Connection, ask: AskRecord, wait: ProviderWait, down: ProviderDown
) -> float | None:
    """Note that the provider did not answer the ask; seconds until someone in its line probes again.

    None if only this run's calls fail, so that it waits by a time of its own.
    """
    bucket = lock_or_make(database, connection, wait.target)
    bucket.forget_the_dead()
    return bucket.failed(ask.run_id, down)


def _go_on(connection: Connection, bucket: Bucket) -> None:
    """Let everybody continue who waits for the provider, also those who wait by a time of their own."""
    if bucket.answered():
        connection.execute(_WAKE, {"of_bucket": bucket.id})


def room_of_ask(connection: Connection, ask: AskRecord) -> tuple[Bucket, Room] | None:
    """The bucket that an ask waits for, locked, and when that has room for it; None if there is no such bucket."""
    bucket = lock(connection, ask.bucket) if ask.bucket is not None else None
    return (bucket, bucket.room(ask.bucket_tokens or 0, ask)) if bucket is not None else None


def _old_news(announced: RateLimits, held: ProviderPlace) -> bool:
    """Return whether it says what was known: the same limits, and no one but us uses them."""
    before, after = held.window, held.window.announced(announced, held.place)
    same = (before.learned_requests, before.learned_tokens) == (after.learned_requests, after.learned_tokens)
    others = (before.foreign.requests, before.foreign.tokens, after.foreign.requests, after.foreign.tokens)
    return same and not any(others)
