"""Ending runs from outside: one by its task, all of a session by name."""

from __future__ import annotations

import threading
from collections import defaultdict
from weakref import WeakSet


class KillSwitch:
    """Told once that its run has to end; a run that was begun by another's handler ends with that one, too."""

    __slots__ = ("__weakref__", "_caller", "_pulled")

    def __init__(self, caller: KillSwitch | None = None) -> None:
        self._pulled = False
        self._caller = caller

    def pull(self) -> None:
        """End the run before anybody else is asked."""
        self._pulled = True

    def pulled(self) -> bool:
        """Whether the run has to end."""
        return self._pulled or (self._caller is not None and self._caller.pulled())


class Sessions:
    """The switches of the runs that are going on in this process, by session id; ended runs leave by themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._switches: defaultdict[str, WeakSet[KillSwitch]] = defaultdict(WeakSet)

    def add(self, session_id: str, switch: KillSwitch) -> None:
        """Let `kill` of this session reach the run; "" is no session."""
        if not session_id:
            return
        with self._lock:
            for gone in [key for key, switches in self._switches.items() if not switches]:
                del self._switches[gone]
            self._switches[session_id].add(switch)

    def kill(self, session_id: str) -> None:
        """End every run of the session; an empty id ends nothing."""
        with self._lock:
            switches = list(self._switches.get(session_id, ())) if session_id else []
        for switch in switches:
            switch.pull()


# `Task.kill_session` is told a name alone, so the runs of this process have to be found by it. Weak: nothing stays.
sessions = Sessions()
