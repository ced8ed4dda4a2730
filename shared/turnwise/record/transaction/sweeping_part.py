"""The base of the parts that see to the runs of all tenants, one after another on one thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from turnwise.errors import DatabaseUnavailableError, EnvironmentFault, NotFoundError, RunChangedError
from turnwise.record.database.faults import is_lock_timeout
from turnwise.record.database.lock_waits import PATIENCE, wait_at_most
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction

logger = logging.getLogger(__name__)

T = TypeVar("T")


class SweepingPart(RecordPart):
    """A part in which no run keeps the others from their turn: not by being locked, and not by an error of its own."""

    @contextmanager
    def _lock_if_free(self, run_id: str) -> Iterator[RunTransaction]:
        """`_locked`, but without waiting for the run, and for whatever else is locked for at most `PATIENCE` seconds.

        A session and a tenant's budget are locked for as long as a move takes. Raises `RunChangedError` while another
        transaction has the run, or has one of these for longer; nothing is changed then.
        """
        try:
            with self._lock_run(run_id, skip_locked=True) as transaction:
                if transaction is None:
                    raise RunChangedError(f"another transaction is changing the run {run_id}; try again")
                wait_at_most(self._database, transaction.connection, PATIENCE)
                yield transaction
        except DatabaseUnavailableError as error:
            if not is_lock_timeout(error.__cause__):
                raise
            raise RunChangedError(f"another transaction has what the run {run_id} needs; try again") from error

    def _if_free(
        self, run_id: str, work: Callable[[RunTransaction], T], action: str = "run_not_swept", **fields: str
    ) -> T | None:
        """Do `work` in one writing transaction over a run, and return its result.

        None, and the run is left to a later sweep, if another transaction has it (see `_lock_if_free`), if it was
        deleted, or if an error is of this run alone. The error is logged as `action`, with `fields`. Raises
        `EnvironmentFault`.
        """
        try:
            with self._lock_if_free(run_id) as transaction:
                return work(transaction)
        except (NotFoundError, RunChangedError):
            return None
        except EnvironmentFault:
            raise
        except Exception:  # an error of one run leaves the others alone
            extra = {"action": action, "run": run_id, **fields}
            logger.exception("A sweep could not do its work on the run %s", run_id, extra=extra)
            return None
