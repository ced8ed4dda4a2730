"""Signatures of broker messages: who holds a key of the installation has written them.

HMAC-SHA256 over the name of this scheme, the channel (`work` or `notice`), the routing key and the body as it is sent;
in the header `turnwise-signature` as `KEY:HEX`, where KEY is eight hex digits of the key's own hash. The first key
signs, all verify, so keys can be changed one process after another.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from turnwise.errors import ConfigurationError, InvalidRequestError

HEADER = "turnwise-signature"
_SCHEME = b"turnwise-wire-1"
_SHORTEST = 32

Channel = Literal["work", "notice"]


@dataclass(frozen=True, kw_only=True)
class WireKeys:
    """The keys of an installation, newest first; none: nothing is signed, nothing is checked.

    `accept_unsigned`: messages without a signature are taken, for the time of a rollout; a wrong one never is. Raises
    `ConfigurationError` for a key of less than 32 characters.
    """

    keys: tuple[bytes, ...] = field(default=(), repr=False)
    accept_unsigned: bool = False

    @classmethod
    def of(cls, keys: Sequence[str], *, accept_unsigned: bool = False) -> WireKeys:
        """Return the keys that the settings name."""
        for n, key in enumerate(keys, 1):
            if len(key) < _SHORTEST:
                raise ConfigurationError(
                    f"key {n} of TURNWISE_WIRE_KEYS has {len(key)} characters; a key needs at least {_SHORTEST}, for "
                    "instance those of `openssl rand -hex 32`"
                )
        return cls(keys=tuple(key.encode() for key in keys), accept_unsigned=accept_unsigned)

    @property
    def required(self) -> bool:
        """Return whether a message without a signature is refused."""
        return bool(self.keys) and not self.accept_unsigned

    def headers(self, channel: Channel, routing_key: str, body: str) -> dict[str, str]:
        """Return what a message carries to be believed."""
        if not self.keys:
            return {}
        key = self.keys[0]
        return {HEADER: f"{_name(key)}:{_signature(key, channel, routing_key, body.encode())}"}

    def check(self, channel: Channel, routing_key: str, body: bytes, headers: Any) -> None:
        """Raise `InvalidRequestError` unless one of the keys has signed just this for just there."""
        if not self.keys:
            return
        given = headers.get(HEADER) if isinstance(headers, dict) else None
        if given is None and self.accept_unsigned:
            return
        if not isinstance(given, str):
            raise InvalidRequestError("The message is not signed, but TURNWISE_WIRE_KEYS is set; nothing was done")
        # Every key is tried in full, so that the time taken tells nothing.
        matches = [hmac.compare_digest(given.encode(), _whole(key, channel, routing_key, body)) for key in self.keys]
        if not any(matches):
            raise InvalidRequestError(
                "The message's signature is none of TURNWISE_WIRE_KEYS for this message in this place; nothing was "
                "done. Were the keys changed in one step? Add the new one to all processes first"
            )


NO_KEYS = WireKeys()


def _whole(key: bytes, channel: Channel, routing_key: str, body: bytes) -> bytes:
    return f"{_name(key)}:{_signature(key, channel, routing_key, body)}".encode()


def _name(key: bytes) -> str:
    return hashlib.sha256(_SCHEME + key).hexdigest()[:8]


def _signature(key: bytes, channel: Channel, routing_key: str, body: bytes) -> str:
    parts = (_SCHEME, channel.encode(), routing_key.encode())
    # Lengths first, so that no part can run into the next.
    signed = b"".join(len(part).to_bytes(4, "big") + part for part in parts) + body
    return hmac.new(key, signed, hashlib.sha256).hexdigest()
