"""Requests that are made once: a client's idempotency key is written in the transaction of what the request does.

So there is no moment at which a request has had its effect and its key is not known, or the other way round. A request
that makes a run has its key in the run's own row (see `submission`), every other one in a row of `idempotency_keys`.
So no index keeps a key to one of both: two requests of different kinds that use it at the same moment are both done,
each of them once. Preventing that would cost every submission with a key a lock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError, RepeatedRequestError
from turnwise.record.database.access_schema import idempotency_keys
from turnwise.record.database.columns import now
from turnwise.record.database.database import Database
from turnwise.record.database.schema import runs

_PLACE = ("tenant", "key")
_KNOWN = sa.select(idempotency_keys.c.digest, idempotency_keys.c.resource).where(
    *(idempotency_keys.c[name] == sa.bindparam(name) for name in _PLACE)
)
_RUN = sa.select(runs.c.id).where(
    runs.c.tenant == sa.bindparam("tenant"), runs.c.idempotency_key == sa.bindparam("key")
)
# Seconds for which a key is remembered; whoever repeats a request does so within minutes.
KEPT_SECONDS = 7 * 86_400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Once:
    """A request with an idempotency key; `digest` is the same for requests that mean the same."""

    tenant: str
    key: str
    digest: str

    def part(self, resource: str) -> Once:
        """The same request as far as it changes `resource`."""
        return replace(self, key=f"{self.key} for {resource}")


def done_before(connection: Connection, once: Once) -> None:
    """Raise `RepeatedRequestError` if the request was done, `ConflictError` if its key was used for another."""
    given = {"tenant": once.tenant, "key": once.key}
    row = connection.execute(_KNOWN, given).first()
    if row is not None and row[0] == once.digest:
        raise RepeatedRequestError(
            f"the request with the idempotency key {once.key!r} was done before, to {row[1]}; nothing was done again",
            resource=row[1],
        )
    other = row[1] if row is not None else connection.execute(_RUN, given).scalar()
    if other is not None:
        raise mismatch(once.key, other)


def write_once(database: Database, connection: Connection, once: Once, resource: str) -> None:
    """Write the key down with what is done to `resource`; raises as `done_before`, and then nothing is done."""
    row = {"tenant": once.tenant, "key": once.key, "digest": once.digest, "resource": resource, "at": now()}
    statement = database.insert(idempotency_keys).values(row).on_conflict_do_nothing(index_elements=list(_PLACE))
    if connection.execute(statement.returning(idempotency_keys.c.key)).first() is None:
        done_before(connection, once)
    elif (run := connection.execute(_RUN, {"tenant": once.tenant, "key": once.key}).scalar()) is not None:
        raise mismatch(once.key, run)


def used_for(connection: Connection, tenant: str, key: str) -> str | None:
    """The resource that a request with that key was about, None if no request but one for a run had it."""
    row = connection.execute(_KNOWN, {"tenant": tenant, "key": key}).first()
    return None if row is None else str(row[1])


def mismatch(key: str, resource: str) -> ConflictError:
    """The refusal of a key that was used for another request."""
    about = "several runs" if resource.startswith("[") else resource
    return ConflictError(
        f"the idempotency key {key!r} was used with another request body, for {about}; send that body again or "
        "choose a new key",
        code="idempotency_mismatch",
    )


def forget_old(connection: Connection, limit: int) -> int:
    """Delete the oldest keys that are kept no longer, at most `limit`, and return how many they were."""
    old = sa.select(idempotency_keys.c.tenant, idempotency_keys.c.key).where(
        idempotency_keys.c.at <= now() - sa.literal(KEPT_SECONDS, sa.Double)
    )
    first = old.order_by(idempotency_keys.c.at).limit(limit)
    place = sa.tuple_(idempotency_keys.c.tenant, idempotency_keys.c.key)
    return connection.execute(sa.delete(idempotency_keys).where(place.in_(first))).rowcount
