"""The health of a prefork worker: its children hold the leases, so what the record says of them is what it tells."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Sequence

from turnwise.errors import EnvironmentFault
from turnwise.processes.bootstrap import open_store
from turnwise.processes.settings import ServiceSettings
from turnwise.record.asks.worker_records import WorkerRecord
from turnwise_responders.idle_poll import INCURABLE


class Forked:
    """Asks the record at each probe; `children` gives the ids of the processes that live.

    Nothing is kept open in between: a child that is forked later would share the connection.
    """

    def __init__(
        self, settings: ServiceSettings, children: Callable[[], Collection[int]], broker_answers: Callable[[], bool]
    ) -> None:
        self._settings = settings
        self._children = children
        self._broker_answers = broker_answers

    def health(self) -> tuple[bool, str]:
        """Ready while some child holds a lease, and none found out that the broker brings it nothing."""
        try:
            found = self._records()
        except EnvironmentFault as error:
            return False, str(error)
        if not found:
            return False, "no child of this worker holds a lease; is the database away?"
        deaf = [one.pid for one in found if one.shown_state == "deaf"]
        if deaf:
            return False, f"deaf: the broker brings nothing to {len(deaf)} of {len(found)} children ({_listed(deaf)})"
        return True, "ok"

    def alive(self) -> tuple[bool, str]:
        """Return whether a restart would not help: it would, if all children are deaf for long and the broker
        answers.
        """
        try:
            found = self._records()
        except EnvironmentFault:
            return True, "ok"
        deaf = bool(found) and all(self._is_long_deaf(one) for one in found)
        if not deaf or not self._broker_answers():
            return True, "ok"
        return (
            False,
            f"deaf: the broker answers, but brings nothing to any of {len(found)} children; restart this worker",
        )

    def _is_long_deaf(self, one: WorkerRecord) -> bool:
        # Both are the database's time; a beat is never old.
        return one.deaf_since is not None and one.beat_at - one.deaf_since > INCURABLE * self._settings.deaf_seconds

    def _records(self) -> Sequence[WorkerRecord]:
        database, store = open_store(self._settings)
        try:
            host, pids = socket.gethostname(), self._children()
            return [one for one in store.monitor.workers("alive") if one.host == host and one.pid in pids]
        finally:
            database.close()


def _listed(pids: Sequence[int]) -> str:
    return ", ".join(str(pid) for pid in sorted(pids))
