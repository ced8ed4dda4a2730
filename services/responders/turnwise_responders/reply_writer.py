"""Writing what became of an ask, however long the database is away."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from turnwise.base.postgres import LONGEST_MOVE
from turnwise.errors import (
    DatabaseUnavailableError,
    EnvironmentFault,
    NotFoundError,
    TurnwiseError,
    UnwritableError,
)
from turnwise.observability.redaction import redact_beginning
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import RaisedError
from turnwise.record.values.outcomes import Outcome, Parking, Release, Reply
from turnwise.record.values.records import Claim
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observers
from turnwise_responders.carrying import RunCarrier
from turnwise_responders.claimed_asks import ClaimedAsks

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds between two tries to write while the database is away.
_FIRST_PAUSE = 0.2
_LAST_PAUSE = 2.0


class Written(NamedTuple):
    """The reply that was written, which may be an error in place of the one that was given; `accepted`: in time."""

    reply: Reply
    accepted: bool


class ReplyWriter:
    """Writes replies, each with the run's next move if there is a `mover`.

    `ends_within` waits for so many seconds, and returns whether this process may by then wait no longer for the
    database; it comes back before if so.
    """

    def __init__(
        self,
        record: WorkerRole,
        mover: Mover | None,
        observers: Observers,
        holdings: ClaimedAsks,
        ends_within: Callable[[float], bool],
    ) -> None:
        self._record = record
        self._mover = mover
        self._observers = observers
        self._holdings = holdings
        self._ends_within = ends_within

    def write(self, claim: Claim, reply: Reply, carrier: RunCarrier, moves: list[Moved]) -> Written | None:
        """Write the reply, and return what was written; None if this process had to end before it could.

        The lease is renewed as long as this process lives, so no one else would write it. A reply that no database
        takes becomes an error on record, and if its usage is what cannot be kept, all that was reserved counts.
        """

        def once(what: Reply) -> Written:
            moves.clear()
            return Written(what, self._record.reply(claim, what))

        if self._mover is not None:
            mover = self._mover
            try:
                return self.until_back(claim, lambda: self._write_moving(claim, reply, mover, carrier, moves))
            except EnvironmentFault:
                raise
            except Exception as error:  # noqa: BLE001 - the coordinator that makes the move meets it again, and tells
                logger.warning(
                    "The move after %s is left to a coordinator: %s",
                    claim.ask.id,
                    error,
                    extra={"action": "move_left"},
                )
        try:
            return self.until_back(claim, lambda: once(reply))
        except EnvironmentFault:
            raise
        except Exception as error:
            logger.exception("The reply to %s cannot be kept", claim.ask.id, extra={"action": "reply_refused"})
            failed = refused(claim, reply, error)
        try:
            return self.until_back(claim, lambda: once(failed))
        except UnwritableError:
            logger.exception("The usage of %s cannot be kept", claim.ask.id, extra={"action": "usage_refused"})
            bare = replace(failed, usage=None, calls=(), forfeits=True)
        return self.until_back(claim, lambda: once(bare))

    def _write_moving(
        self, claim: Claim, reply: Reply, mover: Mover, carrier: RunCarrier, moves: list[Moved]
    ) -> Written:
        """Write the reply and the run's next move in one transaction; `moves` is that move."""
        moves.clear()
        taken: list[Claim] = []
        began = self._record.clock.monotonic()
        try:
            with self._holdings.carrying(taken) as may:

                def move(tx: RunTransaction) -> None:
                    with self._observers.around_move(claim.run.id):
                        moves[:] = [mover.move(tx, carrier if may else None)]

                accepted = self._record.reply(claim, reply, move)
                if not accepted:  # a move that was made before, on what was known of the run, is undone
                    moves.clear()
                taken += [moved.claim for moved in moves if moved.claim is not None]
        except DatabaseUnavailableError as error:
            seconds = self._record.clock.monotonic() - began
            if seconds > LONGEST_MOVE:
                # No outage takes so long to show: a rule of the application rests for longer than the database lets
                # a transaction rest, and would do so again.
                raise TimeoutError(f"it took {seconds:.0f} s") from error
            raise
        return Written(reply, accepted)

    def until_back(self, claim: Claim, write: Callable[[], T]) -> T | None:
        """Do it again until the database answers; None if the run was deleted, or if this process has to end.

        It is done once more then. If that fails too, the ask stays with this process, and is taken over as if the
        process had been lost.
        """
        pause, is_last = _FIRST_PAUSE, False
        while True:
            try:
                return write()
            except NotFoundError as error:
                logger.warning("No one is left to answer: %s", error, extra={"action": "run_vanished"})
                return None
            except DatabaseUnavailableError as error:
                if is_last:
                    self._give_up(claim, error)
                    return None
                logger.warning(
                    "Could not write for %s, next try in %.1f s: %s",
                    claim.ask.id,
                    pause,
                    error,
                    extra={"action": "write_failed"},
                )
                is_last = self._ends_within(pause)
                pause = min(2 * pause, _LAST_PAUSE)

    def _give_up(self, claim: Claim, error: DatabaseUnavailableError) -> None:
        """Leave the ask to be taken over, by this process's last beats if the database is back by then."""
        self._holdings.doubt(claim)
        logger.warning(
            "Could not write for %s before this process has to end; the ask will be taken over: %s",
            claim.ask.id,
            error,
            extra={"action": "write_given_up"},
        )


def refused(claim: Claim, outcome: Outcome, error: Exception) -> Reply:
    """The error for the record in place of an outcome that the database refuses."""
    message = redact_beginning(f"the reply cannot be kept: {error}")
    code = error.code if isinstance(error, TurnwiseError) else None
    kept = RaisedError(type=type(error).__name__, message=message, place=claim.ask.path, code=code)
    in_doubt = isinstance(outcome, Parking) or (isinstance(outcome, Reply | Release) and outcome.in_doubt)
    return Reply(kind="error", error=kept, usage=outcome.usage, calls=outcome.calls, in_doubt=in_doubt)
