"""Explain why PostgreSQL refused a connection.

libpq gives no SQLSTATE for a connection that was refused, only the server's sentence. A sentence in another language
than English is not recognized, and is passed on with the general advice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "missing_database",
    "missing_role",
    "password",
    "permission",
    "closed",
    "too_many",
    "starting",
    "tls",
    "host",
    "refused",
    "other",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectFault:
    """The kind of a refusal, the end of the sentence "the database URL ...", and the cure."""

    kind: Kind
    found: str
    cure: str


_CORRECT = "correct TURNWISE_DATABASE_URL"
_NO_ANSWER = "does not answer"
# The first pattern that is found in the driver's text decides.
_FAULTS: tuple[tuple[str, ConnectFault], ...] = (
    (
        r'database ".*" does not exist',
        ConnectFault(
            kind="missing_database",
            found="does not exist, though its server answers",
            cure=f"create it with `turnwise migrate --create-database`, or {_CORRECT}",
        ),
    ),
    (
        r'role ".*" does not exist',
        ConnectFault(
            kind="missing_role",
            found="cannot be opened: its server has no such user",
            cure="create the user there with `createuser`, or correct the user in TURNWISE_DATABASE_URL",
        ),
    ),
    (
        r"password authentication failed|no password supplied|authentication failed for user",
        ConnectFault(
            kind="password",
            found="cannot be opened: its server refuses the user or the password",
            cure="correct user and password in TURNWISE_DATABASE_URL; write %40 for an @ in the password",
        ),
    ),
    (
        r"no pg_hba\.conf entry|permission denied for database|is not permitted to log in",
        ConnectFault(
            kind="permission",
            found="cannot be opened: its server does not let this user in from here",
            cure="have an administrator of the server allow it (pg_hba.conf, GRANT CONNECT), or " + _CORRECT,
        ),
    ),
    (
        r"is not currently accepting connections",
        ConnectFault(
            kind="closed",
            found="takes no connections now",
            cure="have an administrator allow them again (ALTER DATABASE ... ALLOW_CONNECTIONS true), or " + _CORRECT,
        ),
    ),
    (
        r"too many (clients|connections)|remaining connection slots are reserved",
        ConnectFault(
            kind="too_many",
            found="has no connection left",
            cure="lower TURNWISE_DATABASE_CONNECTIONS or the number of processes, or raise its max_connections",
        ),
    ),
    (
        r"the database system is (starting up|shutting down|in recovery mode|not yet accepting)",
        ConnectFault(
            kind="starting",
            found="is not ready: its server is starting or stopping",
            cure="wait until the server is up",
        ),
    ),
    (
        r"\b(SSL|TLS|certificate|sslmode|sslrootcert)\b",
        ConnectFault(
            kind="tls",
            found="cannot be reached over TLS",
            cure="correct sslmode and sslrootcert in TURNWISE_DATABASE_URL, or the certificate of the server",
        ),
    ),
    (
        r"could not translate host name|failed to resolve host|Name or service not known|nodename nor servname",
        ConnectFault(kind="host", found="cannot be found: the name of its host is not known", cure=_CORRECT),
    ),
    (
        r"Connection refused|timeout expired|timed out|No route to host|Network is unreachable|No such file",
        ConnectFault(kind="refused", found=_NO_ANSWER, cure=f"start PostgreSQL there, or {_CORRECT}"),
    ),
)
_OTHER = ConnectFault(kind="other", found=_NO_ANSWER, cure=f"start PostgreSQL, or {_CORRECT}")


def connect_fault(text: str) -> ConnectFault:
    """Return what the driver's `text` says about a connection that failed or was lost."""
    return next((fault for pattern, fault in _FAULTS if re.search(pattern, text)), _OTHER)
