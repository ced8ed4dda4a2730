"""The limits that a call counts against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from turnwise.models.limits.window import Caps


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A model at a server, as one API key reaches it; all who call it with that key share its limits.

    `account` is a fingerprint of the key, which cannot be turned back into it.
    """

    server: str
    model: str
    account: str

    @property
    def id(self) -> str:
        """The three in one word."""
        return _id(self.server, self.model, self.account)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The model that a call is for, and the limits that are configured for it."""

    provider: Provider
    caps: Caps


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderWait:
    """A call of so many tokens that waits for a place."""

    target: Target
    tokens: int


@lru_cache(maxsize=256)
def provider_of(server: str, model: str, api_key: str) -> Provider:
    """The provider that a call with that key is made to."""
    return Provider(server=server.rstrip("/"), model=model, account=sha256(api_key.encode()).hexdigest()[:12])


@lru_cache(maxsize=256)
def _id(server: str, model: str, account: str) -> str:
    return sha256("\n".join((server, model, account)).encode()).hexdigest()[:24]
