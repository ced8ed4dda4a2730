"""The caller of a request, found by its credentials. Each way of knowing is a class; all of them have one interface."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.concurrency import run_in_threadpool

from turnwise.errors import DatabaseUnavailableError, UnauthorizedError
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.tenants.api_key import ApiKey
from turnwise.record.tenants.caller import Caller
from turnwise.record.tenants.keys import FoundKey
from turnwise.record.tenants.tenant import DEFAULT_TENANT, TenantLimits

logger = logging.getLogger(__name__)

# Seconds for which a key that was found is let in without another look: so long may a revoked one continue.
TRUSTED_SECONDS = 5.0
# Keys that are remembered at a time.
_MOST_KNOWN = 10_000


class Identity(Protocol):
    """A way to know callers."""

    def takes(self, token: str) -> bool:
        """Return whether a bearer token has the form that this class checks."""
        ...

    async def caller(self, token: str, trusted: float = TRUSTED_SECONDS) -> Caller:
        """Return whose token it is; raises `UnauthorizedError`, or what keeps it from knowing.

        What was found out less than `trusted` seconds ago may be believed.
        """
        ...


class SharedToken:
    """One token for all, who are the default tenant and may do everything."""

    def __init__(self, record: AuthenticationRole, token: str) -> None:
        self._record = record
        self._token = token.encode()

    def takes(self, token: str) -> bool:
        """Any text."""
        return True

    async def caller(self, token: str, trusted: float = TRUSTED_SECONDS) -> Caller:
        """The one caller that there is."""
        # Compared in constant time, or the time taken would tell how much of a guess is right.
        if not hmac.compare_digest(token.encode(), self._token):
            raise UnauthorizedError("the token is not the server's (TURNWISE_AUTH_TOKEN)")
        return Caller(name="token", limits=await limits_of(self._record, DEFAULT_TENANT))


async def limits_of(record: AuthenticationRole, tenant: str) -> TenantLimits:
    """The tenant's own limits; the database is asked at most every 5 s."""
    known = record.remembered_limits(tenant)
    return known if known is not None else await run_in_threadpool(record.tenant_limits, tenant)


@dataclass(frozen=True, slots=True)
class _Remembered:
    found: FoundKey
    caller: Caller
    at: float
    until: float


class Keys:
    """API keys of the database. A request with a key that was seen within 5 s costs no look there, others one."""

    def __init__(self, record: AuthenticationRole) -> None:
        self._record = record
        self._known: dict[str, _Remembered] = {}

    def takes(self, token: str) -> bool:
        """Return whether the token has the prefix of every API key."""
        return token.startswith("tw_")

    async def caller(self, token: str, trusted: float = TRUSTED_SECONDS) -> Caller:
        """The key's tenant with the key's scopes."""
        key = ApiKey.parse(token)
        if key is None:
            raise UnauthorizedError("the API key is malformed; it has been cut or altered")
        known = self._known.get(key.prefix)
        now = self._record.clock.monotonic()
        fresh = known is not None and now < known.until and now - known.at < trusted
        if known is None or not fresh or not key.has_hash(known.found.hash):
            known = await run_in_threadpool(self._look_up, key)
        return known.caller

    def _look_up(self, key: ApiKey) -> _Remembered:
        at = self._record.clock.monotonic()
        found = self._record.find_key(key.prefix)
        if found is None or not key.has_hash(found.hash):
            if found is None:
                self._known.pop(key.prefix, None)  # it no longer lets anyone in
            raise UnauthorizedError("the API key is unknown, revoked or expired")
        trusted = TRUSTED_SECONDS if found.seconds_left is None else min(TRUSTED_SECONDS, found.seconds_left)
        row = found.key
        caller = Caller(
            name=f"key:{row.prefix}",
            tenant=row.tenant,
            scopes=frozenset(row.scopes),
            limits=found.limits,
            expires_at=row.expires_at,
        )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        known = self._known[key.prefix] = _Remembered(found, caller, at, at + trusted)
        if not found.use_is_noted:
            self._note_use(row.id)
        return known

    def _note_use(self, key_id: str) -> None:
        try:
            self._record.note_use(key_id)
        except DatabaseUnavailableError as error:  # to know when a key was used is not worth a refused request
            logger.warning("The use of key %s was not noted: %s", key_id, error, extra={"action": "key_use_not_noted"})


class AnyOf:
    """Several ways; the first that a token has the form of decides."""

    def __init__(self, ways: Sequence[Identity]) -> None:
        self._ways = ways

    def takes(self, token: str) -> bool:
        """Return whether one of them takes the token."""
        return any(way.takes(token) for way in self._ways)

    async def caller(self, token: str, trusted: float = TRUSTED_SECONDS) -> Caller:
        """Return the caller that the token belongs to."""
        for way in self._ways:
            if way.takes(token):
                return await way.caller(token, trusted)
        raise UnauthorizedError("the bearer token has no form that this server knows")
