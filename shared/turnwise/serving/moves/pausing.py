"""Hold a new run whose task or tenant is paused, and tell what continues when a pause ends."""

from __future__ import annotations

import logging

from turnwise.base.waits import PauseWait
from turnwise.errors import EnvironmentFault
from turnwise.record.asks.pauses import EndedPauses, pause_of_new
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.serving.dispatcher import Dispatcher

logger = logging.getLogger(__name__)

_BATCHES = 4


def hold_if_paused(tx: RunTransaction) -> bool:
    """Leave a run that has not begun queued if it is paused; return True if it is held.

    It is due for no move then: whoever ends the pause makes it due. One that is to end is not held.
    """
    run = tx.run
    if run.cancel_requested_at is not None or (run.deadline_at is not None and tx.now >= run.deadline_at):
        return False
    pause = pause_of_new(tx.connection, run)
    if pause is None:
        return False
    tx.change(waiting_for=PauseWait(scope=pause.kind, name=pause.name), move_due_at=None)
    return True


def tell_let_go(record: EndedPauses, dispatcher: Dispatcher) -> None:
    """Wake the runs, and publish permits for the asks, that ended pauses no longer hold.

    It stops after some batches, so that neither a request nor a sweep takes long, and at the first message that the
    broker does not take. Sweeps do the rest: the runs are due, and the asks are topped up.
    """
    try:
        for _ in range(_BATCHES):
            freed = record.let_go()
            if freed is None:
                return
            if not (dispatcher.wake_all(freed.runs) and dispatcher.publish_all(freed.asks)):
                return
    except EnvironmentFault as error:
        logger.warning("Sweeps tell the rest of what is no longer paused: %s", error, extra={"action": "wake_failed"})
