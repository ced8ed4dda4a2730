"""The gateway as the commands use it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.client import Client


def connect(url: str) -> Client:
    """A client of the gateway at `url`, with the key in TURNWISE_API_KEY, or else the token in TURNWISE_AUTH_TOKEN."""
    from turnwise.client import Client

    return Client(url, os.environ.get("TURNWISE_API_KEY") or os.environ.get("TURNWISE_AUTH_TOKEN") or None)
