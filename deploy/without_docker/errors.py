"""Faults of the compose file, and things that are missing on this machine.

ComposeError
└── ServerMissingError    a server's program is not here
"""


class ComposeError(Exception):
    """The message says what was found, what was expected and what to do; it is all that a user is shown."""


class ServerMissingError(ComposeError):
    """A server's program is not on this machine; the message says how to get it."""
