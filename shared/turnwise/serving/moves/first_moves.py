"""First moves of runs, made in the transactions in which the runs are accepted.

The first ask is then there with the run, and its permit goes to a worker directly: no coordinator is between them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from turnwise.errors import ConflictError, EnvironmentFault, QuotaExceededError
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observers
from turnwise.tasks.overrides import TaskOverrides
from turnwise.tasks.task import Task

logger = logging.getLogger(__name__)

# Moves of a process at a time. One that accepts more runs at once than that has no time to spare, and coordinators do.
_MOST_AT_ONCE = 2


class FirstMoves:
    """Accepts runs, each with its first move where this process may make it.

    It is left to a coordinator where it is not allowed, for another version of the application, for a task that brings
    rules of its own (no code of an application decides anything in a request), while this process makes other first
    moves, and after any failure.
    """

    def __init__(self, mover: Mover, *, allowed: bool) -> None:
        """`mover` makes them if they are `allowed`, told of by the observers of each call."""
        self._mover = mover
        self._allowed = allowed
        self._slots = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._plain: dict[str, bool] = {}

    def submit(
        self, record: TenantRole, new: NewRun, dispatcher: Dispatcher, observers: Observers
    ) -> tuple[RunRecord, bool, Moved | None]:
        """Keep a run. Return it as it was accepted, whether it is new, and its first move if that was made.

        Raises what `TenantRole.submit` raises.
        """
        if not self._may_move(new):
            return *record.submit(new), None
        with self._slot() as free:
            if not free:
                return *record.submit(new), None
            return self._submit(record, new, dispatcher, observers)

    def _submit(
        self, record: TenantRole, new: NewRun, dispatcher: Dispatcher, observers: Observers
    ) -> tuple[RunRecord, bool, Moved | None]:
        mover, moved = replace(self._mover, observers=observers), None

        def first(transaction: RunTransaction) -> None:
            nonlocal moved
            moved = mover.move(transaction)

        with observers.around_move(new.id):
            began = record.clock.monotonic()
            try:
                run, created = record.submit(new, first)
            except (EnvironmentFault, ConflictError, QuotaExceededError):
                raise
            except Exception as error:  # noqa: BLE001 - the run is accepted all the same, if it can be
                extra = {"action": "first_move_left", "run": new.id}
                logger.warning("The first move of run %s is left to a coordinator: %s", new.id, error, extra=extra)
                return *record.submit(new), None
            if moved is not None:
                seconds = record.clock.monotonic() - began
                dispatcher.moved(moved)
                observers.moved(moved, seconds)
        return run, created, moved

    def _may_move(self, new: NewRun) -> bool:
        app = self._mover.app
        if not self._allowed or new.version != app.version:
            return False
        plain = self._plain.get(new.task)
        if plain is None:
            plain = self._plain[new.task] = self._is_plain(new.task)
        return plain

    def _is_plain(self, task: str) -> bool:
        """Return whether the task and those below it have no rules of their own."""
        try:
            return not TaskOverrides(self._mover.app.tree(task).tasks, Task)
        except Exception:  # noqa: BLE001 - a coordinator meets it as well, and ends the run with it
            return False

    @contextmanager
    def _slot(self) -> Iterator[bool]:
        """Give whether one of the slots is free, which is taken then."""
        free = self._slots.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._slots.release()
