"""The state of a process's connections to the broker, by their purpose, and the errors of a broker that is away."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

_CORRECT = "correct TURNWISE_BROKER_URL"
# The first pattern that is found in the error's name and text decides: what is wrong, and the cure.
_FAULTS: tuple[tuple[str, str, str], ...] = (
    (
        r"ACCESS_REFUSED - Login|AuthenticationError|WRONGPASS|NOAUTH|Authentication required|username-password",
        "refuses the user or the password",
        "correct user and password in TURNWISE_BROKER_URL; write %40 for an @ in the password",
    ),
    (
        r"ACCESS_REFUSED - .*access to (queue|exchange|topic)",
        "does not let this user use its queues and exchanges",
        "grant it configure, write and read in the virtual host (`rabbitmqctl set_permissions`, and "
        "`set_topic_permissions` where topics are limited)",
    ),
    (
        r"PRECONDITION_FAILED - inequivalent arg",
        "has a queue or an exchange that was declared otherwise than Turnwise does",
        "delete it (what a queue holds is in the database); Turnwise declares it again",
    ),
    (
        # Most complaints about a queue end with "in vhost", too.
        r"NOT_ALLOWED|access to vhost",
        "has no such virtual host, or does not let this user into it",
        "create it (`rabbitmqctl add_vhost`, `set_permissions`), or correct the end of TURNWISE_BROKER_URL",
    ),
    (
        r"MessageNacked",
        "refuses the message",
        "its log says why: a quorum queue has no majority of its nodes, or is at a limit that a policy sets "
        "(`rabbitmqctl list_policies`, `rabbitmq-queues quorum_status`)",
    ),
    (
        r"DB index is out of range",
        "has no database of that number",
        "correct the number at the end of TURNWISE_BROKER_URL, usually 0 to 15",
    ),
    (
        r"\bSSL|certificate|\bTLS\b",
        "cannot be reached over TLS",
        "name a port that speaks TLS, correct TURNWISE_BROKER_CA, _CERT and _KEY, or begin the URL with amqp:// or "
        "redis:// for a broker without TLS",
    ),
    (
        r"gaierror|Name or service not known|Temporary failure in name resolution|nodename nor servname",
        "cannot be found: the name of its host is not known",
        f"correct the host in TURNWISE_BROKER_URL, or the name service; else {_CORRECT}",
    ),
    (
        r"Server unexpectedly closed|Connection reset|Connection closed by server|InvalidResponse|Protocol Error",
        "breaks off the connection",
        "name the broker's own port, 5672 for amqp:// and 6379 for redis://, or begin the URL with amqps:// or "
        "rediss:// if it speaks TLS only",
    ),
)


def explained(reason: object, program: str, *, over_tls: bool = False) -> tuple[str, str]:
    """Return the end of the sentence "the broker at ...", and the cure."""
    text = f"{type(reason).__name__}: {reason}"
    for pattern, found, cure in _FAULTS:
        if re.search(pattern, text):
            return found, cure
    port = "name a port that speaks TLS, " if over_tls else ""
    return "does not answer", f"start {program} there, {port}or set TURNWISE_BROKER_URL to the right address"


# Told of each change: what the connection is for, and whether it works.
OnChange = Callable[[str, bool], None]
# Told, of one connection, whether it works.
Note = Callable[[bool], None]


class BrokerConnections:
    """Notes what was found at the last use of each; a connection that nothing was sent over since is as it was then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._up: dict[str, bool] = {}
        self._watch: OnChange | None = None

    def note(self, purpose: str, up: bool) -> None:
        """Say how the connection for that purpose was found."""
        if self._up.get(purpose) is up:
            return
        with self._lock:
            self._up[purpose] = up
            if self._watch is not None:
                self._watch(purpose, up)

    def failed(self, purpose: str) -> bool:
        """Return whether the connection for that purpose failed when it was last used."""
        return self._up.get(purpose) is False

    def watch(self, changed: OnChange) -> None:
        """Call `changed` with how things are, and with every change from now on."""
        with self._lock:
            self._watch = changed
            for purpose, up in self._up.items():
                changed(purpose, up)
