"""Runs that began with another version of the application than this process has, or that a newer Turnwise has moved.

With the policy `adopt` this process continues with runs of another version of the application, and their events say so;
with `pinned` it leaves them alone. A run whose state it cannot read waits for a newer Turnwise.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from turnwise.app import App
from turnwise.base.waits import UpgradeWait
from turnwise.errors import NewerStateError
from turnwise.messages.entity import StatusCode
from turnwise.record.asks.sweep import FOREIGN_PATIENCE
from turnwise.record.events.run_events import RunEnded
from turnwise.record.states import RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import RaisedError
from turnwise.record.values.records import RunRecord
from turnwise.serving.moves.run_end import run_status

logger = logging.getLogger(__name__)

# A held run is looked at again after this time, by whichever version comes first.
_LOOK_AGAIN_SECONDS = 5.0


def hold_for_newer(tx: RunTransaction, error: NewerStateError) -> None:
    """Leave a run to processes of a newer Turnwise, and keep what was answered for them.

    A run that was to end some time ago is ended: the newer processes would have done it, so there are none.
    """
    end_for_others(tx)
    if tx.run.ended:
        return
    if not is_held_for_newer(tx.run):
        logger.warning("Run %s waits for a newer version: %s", tx.run.id, error, extra={"action": "run_held"})
    waiting_for = UpgradeWait(state=error.version, known=error.known)
    tx.change(status=RunStatus.WAITING, waiting_for=waiting_for, move_due_at=tx.now + _LOOK_AGAIN_SECONDS)


def is_held_for_newer(run: RunRecord) -> bool:
    """Return whether the run waits for a newer Turnwise."""
    return isinstance(run.waiting_for, UpgradeWait)


def taken_over(run: RunRecord, app: App) -> str | None:
    """Return the version of the application for an event of a run that began with another one; else None."""
    return None if run.version == app.version else app.version


def explained(error: RaisedError, run: RunRecord, app: App) -> RaisedError:
    """The record of an error, with the reason that another version may be for it."""
    if run.version == app.version:
        return error
    reason = (
        f"the run began with version {run.version} of the application and version {app.version} went on with it; keep "
        "what runs of the old one need, or set TURNWISE_VERSION_POLICY=pinned and keep processes of that version"
    )
    return replace(error, message=f"{error.message} ({reason})", version=app.version)


def end_for_others(tx: RunTransaction) -> None:
    """End a run of another version that was to end some time ago; else leave it alone.

    Its own processes would have done it long before; if there are none, no one else could.
    """
    asked, deadline = tx.run.cancel_requested_at, tx.run.deadline_at
    if asked is not None and asked <= tx.now - FOREIGN_PATIENCE:
        end_undecided(tx, StatusCode.KILL)
    elif deadline is not None and deadline <= tx.now - FOREIGN_PATIENCE:
        end_undecided(tx, StatusCode.TIMEOUT)


def end_undecided(tx: RunTransaction, status: StatusCode) -> None:
    """End the run without asking its application's rules."""
    for frame in reversed(tx.frames()):
        tx.pop_frame(frame.no)
    ended = run_status(status)
    tx.finish(ended, status.value)
    tx.event(RunEnded(ended=ended, status=status.value))
