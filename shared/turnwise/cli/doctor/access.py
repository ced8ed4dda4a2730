"""Checks of the means to identify callers: the issuer of tokens, and the storage of request rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwise.cli.doctor.finding import Finding, fault, ok, warning
from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import redact
from turnwise.processes.settings import ServiceSettings

_SECONDS = 5.0


def check_issuer(settings: ServiceSettings) -> Iterator[Finding]:
    """Fetch the issuer's keys as the gateway does; nothing where no issuer is set."""
    if settings.oidc_issuer is None:
        return
    check = f"issuer {settings.oidc_issuer}"
    try:
        settings.check_issuer()
    except ConfigurationError as error:
        yield warning(check, str(error), "set both for the gateway, which does not start without them")
    url = settings.oidc_jwks_url
    if url is None:
        described = _json(f"{settings.oidc_issuer.rstrip('/')}/.well-known/openid-configuration")
        if isinstance(described, str) or not isinstance(described.get("jwks_uri"), str):
            told = described if isinstance(described, str) else "its description has no `jwks_uri`"
            yield fault(check, told, "correct TURNWISE_OIDC_ISSUER, or name its keys in TURNWISE_OIDC_JWKS_URL")
            return
        url = str(described["jwks_uri"])
    keys = _json(str(url))
    if isinstance(keys, str) or not keys.get("keys"):
        told = keys if isinstance(keys, str) else f"{url} has no keys"
        yield fault(check, told, "correct TURNWISE_OIDC_JWKS_URL, or let this machine reach it")
        return
    yield ok(check, f"{len(keys['keys'])} keys")


def check_rates(settings: ServiceSettings) -> Iterator[Finding]:
    """Ask the storage of request rates for a sign of life; nothing where none is set."""
    if settings.rate_storage_url is None:
        return
    from redis import Redis, RedisError

    url = settings.rate_storage_url.get_secret_value()
    mend = "start Redis there, or correct TURNWISE_RATE_STORAGE_URL, for instance redis://:password@host:6379/1"
    try:
        with Redis.from_url(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:
            client.ping()
    except (RedisError, OSError, ValueError) as error:
        yield fault("request rates", f"their storage cannot be used ({type(error).__name__}: {error})", mend)
        return
    yield ok("request rates", "their storage answers")


def _json(url: str) -> dict[str, Any] | str:
    """The JSON object at `url`; a sentence where there is none."""
    import httpx2

    try:
        found = httpx2.get(url, timeout=_SECONDS)
        body = found.raise_for_status().json()
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return f"{url} cannot be fetched ({type(error).__name__}: {redact(str(error))})"
    except ValueError:
        return f"{url} answers with something other than JSON"
    return body if isinstance(body, dict) else f"{url} answers with JSON that is no object"
