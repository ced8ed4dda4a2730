"""The state of a process's connections to the broker, by their purpose."""

from __future__ import annotations

import threading
from collections.abc import Callable

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

    def watch(self, changed: OnChange) -> None:
        """Call `changed` with how things are, and with every change from now on."""
        with self._lock:
            self._watch = changed
            for purpose, up in self._up.items():
                changed(purpose, up)
