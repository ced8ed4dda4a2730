"""API keys as the database keeps them: nothing of them could be used as a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError, PermissionDeniedError
from turnwise.record.database.access_schema import api_keys, tenants
from turnwise.record.database.columns import now
from turnwise.record.database.rows import names
from turnwise.record.tenants.api_key import ApiKey
from turnwise.record.tenants.caller import Scope
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.tenants.tenant import NO_OWN_LIMITS, TenantLimits
from turnwise.record.tenants.tenants import LIMITS, limits_of
from turnwise.record.transaction.part import ChangingPart, RecordPart

KEY = tuple(column for column in api_keys.c if column.name != "hash")
_NAMES = names(KEY)
# Seconds between two notes that a key is used.
_COARSE = 3_600.0
_USABLE = sa.and_(
    api_keys.c.revoked_at.is_(None), sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now())
)
# All that a request with this key needs to be let in, in one look.
_BY_PREFIX = (
    sa.select(api_keys.c.hash, now(), *KEY, tenants.c.id, *LIMITS)
    .select_from(api_keys)
    .outerjoin(tenants, tenants.c.id == api_keys.c.tenant)
    .where(api_keys.c.prefix == sa.bindparam("prefix"))
)
_NOTE_USE = (
    sa.update(api_keys)
    .where(
        api_keys.c.id == sa.bindparam("of_key"),
        sa.or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < now() - _COARSE),
    )
    .values(last_used_at=now())
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewKey:
    """A key to be made; `lifetime` is in seconds, None: it does not expire."""

    tenant: str
    name: str
    scopes: tuple[Scope, ...]
    lifetime: float | None = None
    created_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRecord:
    """A key's row without its hash. `last_used_at` is up to an hour old; `replaced_by` is the key it was rotated to."""

    id: str
    prefix: str
    tenant: str
    name: str
    scopes: list[Scope]
    created_at: float
    created_by: str
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None
    replaced_by: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundKey:
    """A key that may be used, with its hash; `seconds_left` until it expires, None: it does not."""

    key: KeyRecord
    hash: str
    seconds_left: float | None
    limits: TenantLimits
    use_is_noted: bool


class KeyLookup(RecordPart):
    """Finds the key that a request was sent with, whoever's it is."""

    def find_key(self, prefix: str) -> FoundKey | None:
        """The key of that prefix, whoever's it is; None if there is none, or it is revoked or expired."""
        with self._database.read() as connection:
            row = connection.execute(_BY_PREFIX, {"prefix": prefix}).first()
        if row is None:
            return None
        at, key, limits = row[1], _key(row[2 : 2 + len(KEY)]), row[2 + len(KEY) :]
        if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= at):
            return None
        return FoundKey(
            key=key,
            hash=row[0],
            seconds_left=None if key.expires_at is None else key.expires_at - at,
            limits=NO_OWN_LIMITS if limits[0] is None else limits_of(limits[1:]),
            use_is_noted=key.last_used_at is not None and key.last_used_at > at - _COARSE,
        )

    def note_use(self, key_id: str) -> None:
        """Keep that the key is used now, unless that was noted within the hour."""
        with self._database.begin() as connection:
            connection.execute(_NOTE_USE, {"of_key": key_id})


class ApiKeys(ChangingPart):
    """Makes the keys of the tenants within reach, lists them, and takes them back."""

    def require_tenant(self, tenant: str) -> None:
        """Raise `PermissionDeniedError` if the tenant's keys are out of reach."""
        if isinstance(self._reach, OneTenant) and not self._reach.includes(tenant):
            raise PermissionDeniedError(f"only an operator may make a key for another tenant than {self._reach.name!r}")

    def create_key(self, new: NewKey) -> tuple[KeyRecord, ApiKey]:
        """Make a key; only the `ApiKey` that this gives knows the secret. Raises `PermissionDeniedError`."""
        self.require_tenant(new.tenant)
        with self._database.begin() as connection:
            made = self._insert(connection, new)
            self._audited(connection, made[0].id)
        return made

    def api_keys(self, after: str | None = None, limit: int = 100) -> list[KeyRecord]:
        """Keys, newest first, also those that can no longer be used; those before `after`, a key's id."""
        statement = sa.select(*KEY).where(*self._reach.where(api_keys.c.tenant))
        statement = statement.order_by(api_keys.c.id.desc()).limit(limit)
        if after is not None:
            statement = statement.where(api_keys.c.id < after)
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(statement)]

    def api_key(self, key_id: str) -> KeyRecord:
        """The key, also one that can no longer be used; raises `NotFoundError`."""
        with self._database.read() as connection:
            return self._key_within_reach(connection, sa.select(*KEY), key_id)

    def rotate_key(self, key_id: str, *, overlap: float, created_by: str) -> tuple[KeyRecord, ApiKey]:
        """Make a key in place of another, which can be used for `overlap` seconds more.

        It has the tenant, name and scopes of the other, and as long a lifetime. Raises `NotFoundError`, and
        `ConflictError` (`key_ended`) for one that is revoked, expired or already replaced.
        """
        with self._database.begin() as connection:
            old = self._locked_key(connection, key_id)
            usable = connection.execute(sa.select(sa.literal(1)).where(api_keys.c.id == key_id, _USABLE)).first()
            if usable is None or old.replaced_by is not None:
                state = "revoked" if old.revoked_at else "expired" if usable is None else "already replaced"
                raise ConflictError(f"the key {key_id} is {state}; make a new one", code="key_ended")
            lifetime = None if old.expires_at is None else old.expires_at - old.created_at
            new = NewKey(
                tenant=old.tenant,
                name=old.name,
                scopes=tuple(old.scopes),
                lifetime=lifetime,
                created_by=created_by,
            )
            made = self._insert(connection, new)
            ends = now() + overlap
            if old.expires_at is not None:
                ends = sa.case((ends < old.expires_at, ends), else_=sa.literal(old.expires_at))
            connection.execute(
                sa.update(api_keys).where(api_keys.c.id == key_id).values(expires_at=ends, replaced_by=made[0].id)
            )
            self._audited(connection, key_id, made=made[0].id)
        return made

    def revoke_key(self, key_id: str) -> KeyRecord:
        """Take a key back for good, as it is then; twice is once. Raises `NotFoundError`.

        Processes that have just let it in may continue to do so for as long as they remember it.
        """
        with self._database.begin() as connection:
            self._locked_key(connection, key_id)
            revoked_at = sa.func.coalesce(api_keys.c.revoked_at, now())
            connection.execute(sa.update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=revoked_at))
            self._audited(connection, key_id)
            return self._locked_key(connection, key_id)

    def _insert(self, connection: Connection, new: NewKey) -> tuple[KeyRecord, ApiKey]:
        secret = ApiKey.new()
        values = {
            "id": new_id("key"),
            "prefix": secret.prefix,
            "hash": secret.hash,
            "tenant": new.tenant,
            "name": new.name,
            "scopes": list(new.scopes),
            "created_at": now(),
            "created_by": new.created_by,
            "expires_at": None if new.lifetime is None else now() + new.lifetime,
        }
        row = connection.execute(sa.insert(api_keys).values(values).returning(*KEY)).one()
        return _key(row), secret

    def _locked_key(self, connection: Connection, key_id: str) -> KeyRecord:
        return self._key_within_reach(connection, sa.select(*KEY).with_for_update(), key_id)

    def _key_within_reach(self, connection: Connection, keys: sa.Select[Any], key_id: str) -> KeyRecord:
        row = connection.execute(keys.where(api_keys.c.id == key_id)).first()
        key = _key(row) if row is not None else None
        if key is None or not self._reach.includes(key.tenant):
            raise NotFoundError(f"there is no key {key_id!r}; list the keys to see which exist")
        return key


def _key(row: sa.Row[tuple[object, ...]] | tuple[object, ...]) -> KeyRecord:
    return KeyRecord(**dict(zip(_NAMES, row, strict=True)))  # type: ignore[arg-type]  # columns are the fields
