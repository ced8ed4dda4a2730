"""The asks that this process has claimed, or may have claimed without knowing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.records import Claim

logger = logging.getLogger(__name__)


class Holdings:
    """The asks in hand; used by every thread of the process.

    The answer to a claim's commit may be lost: then the ask is held by a process that lives and does not know of it,
    and no lease would ever end. So after a claim that failed nothing more is claimed until the record was asked.
    """

    def __init__(self, store: WorkerRole) -> None:
        self._store = store
        self._lock = threading.Lock()
        # By run, id and token: an ask that one thread has deferred may be another's before the first has done with it.
        self._held: set[tuple[str, str, int]] = set()
        self._claiming = 0
        self._in_doubt = False

    @contextmanager
    def claim(self, queue: str, worker: str, version: str | None = None) -> Iterator[Claim | None]:
        """Hold the best ask of a queue, if there is one, until the end of the `with` block."""
        claim = self._claim(queue, worker, version)
        try:
            yield claim
        finally:
            if claim is not None:
                with self._lock:
                    self._held.discard(_place(claim))

    @contextmanager
    def carry(self, claim: Claim) -> Iterator[None]:
        """Hold an ask that was written as claimed, until the end of the `with` block."""
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(_place(claim))

    @contextmanager
    def carrying(self, written: list[Claim]) -> Iterator[bool]:
        """Around a commit that may claim an ask, which is then in `written`; gives whether it may."""
        with self._lock:
            may = not self._in_doubt
            self._claiming += may
        try:
            yield may
            with self._lock:
                self._held.update(_place(claim) for claim in written)
        except DatabaseUnavailableError:
            with self._lock:
                self._in_doubt = self._in_doubt or may
            raise
        finally:
            with self._lock:
                self._claiming -= may

    def doubt(self, run_id: str) -> None:
        """Let `clear_up` release what the record says of the run: an error left open what this process holds of it."""
        with self._lock:
            self._held = {place for place in self._held if place[0] != run_id}
            self._in_doubt = True

    def count(self) -> int:
        """Return how many asks are in hand, those included that are being claimed."""
        with self._lock:
            return len(self._held) + self._claiming

    def clear_up(self, worker: str) -> None:
        """Release what `worker` holds on record and this process knows nothing of; nothing to do but after a failure.

        Raises `DatabaseUnavailableError`; it is tried again then, as after a claim that is still being made.
        """
        with self._lock:
            if not self._in_doubt or self._claiming:
                return
            known = frozenset(self._held)
        given = self._store.release_unknown(worker, known)
        with self._lock:
            self._in_doubt = False
        if given:
            logger.warning(
                "%d asks were claimed in a commit whose answer got lost; they are released",
                given,
                extra={"action": "claims_unknown", "asks": given},
            )

    def _claim(self, queue: str, worker: str, version: str | None) -> Claim | None:
        with self._lock:
            if self._in_doubt:
                return None
            self._claiming += 1
        try:
            claim = self._store.claim(queue, worker, version)
            if claim is not None:
                with self._lock:
                    self._held.add(_place(claim))
            return claim
        except DatabaseUnavailableError:
            with self._lock:
                self._in_doubt = True
            raise
        finally:
            with self._lock:
                self._claiming -= 1


def _place(claim: Claim) -> tuple[str, str, int]:
    return claim.ask.run_id, claim.ask.id, claim.token
