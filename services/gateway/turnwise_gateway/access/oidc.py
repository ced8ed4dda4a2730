"""Callers with a token of an OpenID Connect issuer: who they are, the issuer says and signs."""

from __future__ import annotations

import http.client
import json
import logging
import math
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import jwt
from starlette.concurrency import run_in_threadpool

from turnwise.errors import IssuerUnavailableError, UnauthorizedError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.tenants.caller import SCOPES, Caller, Scope
from turnwise.record.tenants.tenant import is_tenant
from turnwise_gateway.access.identity import TRUSTED_SECONDS, limits_of

logger = logging.getLogger(__name__)

# Seconds that the issuer's keys are kept, and the least between two looks for a key that is not among them.
_KEPT, _COOLDOWN = 300.0, 30.0
# Seconds for one request to the issuer, and for which an issuer that did not answer is left alone.
_TIMEOUT, _PAUSE = 5.0, 5.0
_LONGEST_TOKEN = 16_384
_WEB_ADDRESS = re.compile(r"https?://")
# Of an answer that cannot be had or read: it is no connection, no HTTP, no text, no JSON, or too deep.
_UNREADABLE = (OSError, http.client.HTTPException, ValueError, RecursionError)


class Oidc:
    """Bearer tokens that TURNWISE_OIDC_ISSUER has signed for TURNWISE_OIDC_AUDIENCE.

    The issuer's keys are fetched when they are first needed, every 5 minutes, and when a token names another one, for
    that at most every 30 s. If it does not answer, those at hand are used until they are 5 minutes old.
    """

    def __init__(self, record: AuthenticationRole, settings: ServiceSettings) -> None:
        assert settings.oidc_issuer is not None, "whoever makes this has looked"
        self._record = record
        self._issuer = settings.oidc_issuer
        self._settings = settings
        self._client: _IssuersKeys | None = None
        self._left_alone_until = 0.0

    def takes(self, token: str) -> bool:
        """Return whether the token has three parts, as signed tokens do."""
        return token.count(".") == 2

    async def caller(self, token: str, trusted: float = TRUSTED_SECONDS) -> Caller:
        """The tenant and the scopes that the token's claims say."""
        if len(token) > _LONGEST_TOKEN:
            raise UnauthorizedError(f"the token has more than {_LONGEST_TOKEN} characters")
        claims = await run_in_threadpool(self._claims, token)
        tenant = claim(claims, self._settings.oidc_tenant_claim)
        if not isinstance(tenant, str) or not is_tenant(tenant):
            raise UnauthorizedError(
                f"the token names no tenant in its claim {self._settings.oidc_tenant_claim!r} "
                "(TURNWISE_OIDC_TENANT_CLAIM)"
            )
        return Caller(
            name=f"oidc:{claims['sub']}",
            tenant=tenant,
            scopes=scopes_in(claim(claims, self._settings.oidc_scopes_claim)),
            limits=await limits_of(self._record, tenant),
            expires_at=_end_of(claims),
        )

    def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        try:
            key = self._key(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                # Never those that the token itself asks for.
                algorithms=settings.oidc_algorithms,
                issuer=self._issuer,
                audience=settings.oidc_audience,
                leeway=settings.oidc_leeway,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # What the library says quotes nothing of the token but its key's id.
            raise UnauthorizedError(f"the token is not accepted: {error}") from error
        return claims

    def _key(self, token: str) -> jwt.PyJWK:
        kid = jwt.get_unverified_header(token).get("kid")
        if not isinstance(kid, str):
            raise UnauthorizedError("the token does not name the key that signed it (kid)")
        if self._client is not None and (known := self._client.at_hand(kid)) is not None:
            return known
        if time.monotonic() < self._left_alone_until:
            raise self._unavailable("it did not answer a moment ago")
        try:
            self._client = self._client or self._open()
            return self._client.get_signing_key(kid)
        except _UNREADABLE as error:
            self._left_alone_until = time.monotonic() + _PAUSE
            raise self._unavailable(str(error)) from error

    def _open(self) -> _IssuersKeys:
        return _IssuersKeys(
            self._settings.oidc_jwks_url or self._discovered(),
            lifespan=_KEPT,
            cooldown_duration=_COOLDOWN,
            timeout=_TIMEOUT,
        )

    def _discovered(self) -> str:
        """Return where the issuer says that its keys are."""
        url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:  # the settings allow http(s) only
            document = json.load(answer)
        if not isinstance(document, dict) or document.get("issuer") != self._issuer:
            raise OSError(f"{url} is not about {self._issuer}")
        address = document.get("jwks_uri")
        if not isinstance(address, str) or not _WEB_ADDRESS.match(address):
            raise OSError(f"{url} names no address of its keys")
        return address

    def _unavailable(self, why: str) -> IssuerUnavailableError:
        return IssuerUnavailableError(f"the issuer {self._issuer} does not tell its keys ({why}); try again soon")


class _IssuersKeys(jwt.PyJWKClient):
    """The keys of an issuer; an `OSError` for an answer without usable ones.

    The library's errors are of one class for that and for a token's key that is not among them. Only the latter is the
    token's fault.
    """

    def at_hand(self, kid: str) -> jwt.PyJWK | None:
        """Return the key of that name if it was fetched less than 5 minutes ago; never waits for the issuer."""
        found = self.jwk_set_cache.get() if self.jwk_set_cache is not None else None
        keys = [key for key in found.keys if key.public_key_use in (None, "sig")] if found is not None else []
        return self.match_kid(keys, kid)

    def get_signing_keys(self, refresh: bool = False) -> list[jwt.PyJWK]:
        """Return the keys by which tokens may be signed."""
        try:
            return super().get_signing_keys(refresh)
        except (jwt.PyJWTError, TypeError) as error:  # the latter for a key with a part of another type
            raise OSError(str(error)) from error


def _end_of(claims: Mapping[str, Any]) -> float:
    """When the token ends, in seconds since the epoch.

    The library takes whole numbers of any size, also as texts; those that no float can hold are refused here.
    """
    try:
        end = float(claims["exp"])
    except OverflowError:
        end = math.inf
    if not math.isfinite(end):
        raise UnauthorizedError("the token is not accepted: its end (exp) is too large a number")
    return end


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of that name, which may also be a path: `realm_access.roles`. None if there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def scopes_in(value: Any) -> frozenset[Scope]:
    """The scopes among the words of a claim, or the members of a list; others are someone else's."""
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(scope for scope in SCOPES if scope in words)
