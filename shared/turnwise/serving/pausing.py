"""Hold a new run whose task or tenant is paused, and tell what goes on when a pause ends."""

from __future__ import annotations

from collections.abc import Callable

from turnwise.runs.pauses import pause_of_new
from turnwise.runs.records import AskRecord, RunRecord
from turnwise.runs.store import Store
from turnwise.runs.transaction import RunTransaction

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
    tx.change(waiting_for={"kind": "paused", "scope": pause.kind, "name": pause.name}, move_due_at=None)
    return True


def tell_let_go(store: Store, wake: Callable[[RunRecord], None], publish: Callable[[AskRecord], None]) -> None:
    """Wake the runs, and publish permits for the asks, that ended pauses no longer hold.

    It stops after some batches, so that neither a request nor a sweep takes long; the next sweep goes on.
    """
    for _ in range(_BATCHES):
        freed = store.let_go()
        if freed is None:
            return
        for run in freed.runs:
            wake(run)
        for ask in freed.asks:
            publish(ask)
