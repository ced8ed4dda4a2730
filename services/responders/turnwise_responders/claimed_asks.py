"""The asks that this process has claimed, or may have claimed without knowing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.asks.claims import AskPlace
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.records import Claim

logger = logging.getLogger(__name__)


class ClaimedAsks:
    """The asks in hand; used by every thread of the process.

    The answer to a claim's commit may be lost: then the ask is held by a process that lives and does not know of it,
    and no lease would ever end. So after a claim that failed nothing more is claimed until the record was asked. The
    same goes for an ask whose outcome could not be written, except that this process may have done its work. One whose
    record leads to an error then, too, is tried again with each beat, and nothing else waits for it.
    """

    def __init__(self, store: WorkerRole) -> None:
        self._store = store
        self._lock = threading.Lock()
        # By run, id and token: an ask that one thread has deferred may be another's before the first has done with it.
        self._held: set[AskPlace] = set()
        # Those that were worked on, and whose outcome may not be on record.
        self._begun: set[AskPlace] = set()
        # Those that could not be cleared up.
        self._stuck: frozenset[AskPlace] = frozenset()
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

    def doubt(self, claim: Claim) -> None:
        """Let `clear_up` see to what the record says of the claim's run: an error left open what is held of it.

        The claim itself has begun, so that it is not released as if it had never been made.
        """
        with self._lock:
            self._held = {place for place in self._held if place[0] != claim.ask.run_id}
            self._begun.add(_place(claim))
            self._in_doubt = True

    def count(self) -> int:
        """Return how many asks are in hand, those included that are being claimed."""
        with self._lock:
            return len(self._held) + self._claiming

    def clear_up(self, worker: str) -> None:
        """Release what `worker` holds on record and this process does not work on; nothing to do but after a failure.

        Raises `DatabaseUnavailableError`; it is tried again then, as after a claim that is still being made.
        """
        with self._lock:
            if not (self._in_doubt or self._stuck) or (self._in_doubt and self._claiming):
                return
            # While other asks are claimed, none but those that are known to be stuck may be released.
            among = None if self._in_doubt else self._stuck
            known, begun = frozenset(self._held), frozenset(self._begun)
        released = self._store.release_unknown(worker, known, begun, among)
        with self._lock:
            self._stuck = released.stuck
            self._begun -= begun - self._stuck
            if among is None:
                self._in_doubt = bool(self._begun - self._stuck)  # an error of meanwhile is for the next time
        if released.unwritten:
            logger.warning(
                "The answers to %d asks could not be written; the attempts count, and the asks are claimed again",
                released.unwritten,
                extra={"action": "answers_unwritten", "asks": released.unwritten},
            )
        if released.unknown:
            logger.warning(
                "%d asks were claimed in a commit whose answer got lost; they are released",
                released.unknown,
                extra={"action": "claims_unknown", "asks": released.unknown},
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


def _place(claim: Claim) -> AskPlace:
    return claim.ask.run_id, claim.ask.id, claim.token
