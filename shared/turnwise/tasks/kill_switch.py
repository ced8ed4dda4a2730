"""Ending runs from outside: one by its task, all of a session by name."""

from __future__ import annotations

import threading
from collections import defaultdict
from weakref import WeakSet

from turnwise.base.cancellation import Cancellation, Cause


class KillSwitch:
    """Holder of the token that `kill` of a task cancels; a task and its views, `task[T]`, share one."""

    __slots__ = ("cancellation",)

    def __init__(self) -> None:
        # Of the run that continues, or was the last.
        self.cancellation = Cancellation()


class RunningSessions:
    """The runs that are under way in this process, by session id; ended runs leave by themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: defaultdict[str, WeakSet[Cancellation]] = defaultdict(WeakSet)

    def add(self, session_id: str, run: Cancellation) -> None:
        """Let `kill` of this session reach the run; "" is no session."""
        if not session_id:
            return
        with self._lock:
            for gone in [key for key, runs in self._runs.items() if not runs]:
                del self._runs[gone]
            self._runs[session_id].add(run)

    def kill(self, session_id: str) -> None:
        """End every run of the session; an empty id ends nothing."""
        with self._lock:
            runs = list(self._runs.get(session_id, ())) if session_id else []
        for run in runs:
            run.cancel(Cause.KILLED)


# `Task.kill_session` is told a name alone, so the runs of this process have to be found by it. Weak: nothing stays.
sessions = RunningSessions()
