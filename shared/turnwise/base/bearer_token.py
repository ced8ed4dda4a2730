"""The key or token of a request: the same text for the client that sends it and for the server that compares it."""

from __future__ import annotations

from turnwise.errors import ConfigurationError


def bearer_token(text: str, name: str) -> str:
    """Return the key or token without the blanks and line ends around it, which a file or a copy adds.

    Raises `ConfigurationError`, which calls it `name` and does not tell it, for one that no request can have.
    """
    token = text.strip()
    if not (token.isascii() and token.isprintable()):
        raise ConfigurationError(f"{name} has a character that no HTTP header takes; copy it again")
    return token
