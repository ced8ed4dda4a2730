"""The form of an API key: `tw_`, a prefix that finds it, and a secret that no one keeps.

    tw_3f9a0c51b2de_ + 64 hex digits

The database holds the prefix and the SHA-256 of the whole key. The secret has 256 bits of randomness, so a fast hash is
as good as a slow one: there is no dictionary to try.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

# Seconds that a key may live: ten years. One that lives longer does not expire.
MAX_LIFETIME = 3_653 * 86_400.0
# Seconds that a secret may still be used once it is replaced.
MAX_OVERLAP = 90 * 86_400.0

_SECRET_BYTES = 32
_PREFIX_BYTES = 6
_FORM = re.compile(r"tw_([0-9a-f]{12})_[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its holder sends it; only this object and its holder know the secret."""

    prefix: str
    text: str

    def __repr__(self) -> str:
        return f"ApiKey({self.prefix!r})"

    @classmethod
    def new(cls) -> ApiKey:
        """A key that no one has had before."""
        prefix = secrets.token_hex(_PREFIX_BYTES)
        return cls(prefix, f"tw_{prefix}_{secrets.token_hex(_SECRET_BYTES)}")

    @classmethod
    def parse(cls, text: str) -> ApiKey | None:
        """The key that `text` is; None for anything else."""
        found = _FORM.fullmatch(text)
        return None if found is None else cls(found[1], text)

    @property
    def hash(self) -> str:
        """Return what is kept of it: the SHA-256 in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def has_hash(self, kept: str) -> bool:
        """Return whether `kept` is its hash; takes as long for a near miss as for any other."""
        return hmac.compare_digest(self.hash.encode(), kept.encode())
