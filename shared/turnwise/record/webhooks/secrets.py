"""The secrets that webhooks are signed with, in the form of Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import os

from turnwise.errors import InvalidWebhookError

_PREFIX = "whsec_"
_BYTES = 32
# As the specification has it.
_SHORTEST, _LONGEST = 24, 64


def new_secret() -> str:
    """A secret of 32 random bytes."""
    return _PREFIX + base64.b64encode(os.urandom(_BYTES)).decode()


def known_secret(text: str) -> str:
    """The secret, if it can be one. Raises `InvalidWebhookError`."""
    try:
        length = len(base64.b64decode(text.removeprefix(_PREFIX), validate=True)) if text.startswith(_PREFIX) else 0
    except (binascii.Error, ValueError):
        length = 0
    if not _SHORTEST <= length <= _LONGEST:
        raise InvalidWebhookError(
            f"the secret of the webhook is malformed; expected {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in "
            "base64; leave it out to have one made"
        )
    return text
