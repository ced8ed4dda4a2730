"""The moments of a served run at which observers are told, and the list of observers that a process tells.

Observers are what a run could do without: metrics, spans, log lines, notices to those who watch, callbacks. They are
chosen in `turnwise.processes.observers`. What a run cannot do without, as permits and wake-ups, is not here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from turnwise.base.process_end import ends_process
from turnwise.bus.envelope import Announcement
from turnwise.errors import EnvironmentFault
from turnwise.machine.actions import Trace
from turnwise.record.database.faults import DATABASE_ERRORS
from turnwise.record.schedules.firing import Fired
from turnwise.record.transaction.journal import News
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.upkeep.purging import OldRun
from turnwise.record.values.outcomes import Deferral, Outcome, Parking, Release, Reply
from turnwise.record.values.records import AskRecord, Claim, RunRecord, Usage
from turnwise.record.webhooks.records import WebhookOutcome
from turnwise.serving.moves.moved import Moved

logger = logging.getLogger(__name__)

_NOTHING_AROUND: AbstractContextManager[object] = nullcontext()


class Observer:
    """A hook for each moment, in the order of a run's life; none does anything until a subclass says so.

    A hook is called in the thread that does the work, so it has to be quick, and from many threads at once. What it
    raises is logged, and changes nothing. The exception is `move_began`, which is a part of the move's transaction.
    Times are seconds.
    """

    # --- moves ---

    def around_move(self, run_id: str) -> AbstractContextManager[object]:
        """Return the context in which a move is made, if there turns out to be one to make, and told of."""
        return _NOTHING_AROUND

    def move_began(self, transaction: RunTransaction) -> None:
        """There is a move to make; the observer may write what it keeps with the run.

        An error of the database ends the transaction, as it does everywhere else.
        """

    def move_made(self, run: RunRecord) -> None:
        """The move that began is decided, and about to be committed; `run` is as it will be."""

    def run_started(self, run: RunRecord) -> None:
        """The first move of a run is on record."""

    def step_ended(self, run: RunRecord, item: Trace, at: float) -> None:
        """A step took an answer (`taken`), a pass (`passed`) or nothing (`none`), in the move at `at` on record."""

    def run_ended(self, run: RunRecord) -> None:
        """The last move of a run is on record."""

    def run_moved(self, moved: Moved, seconds: float | None) -> None:
        """A move is on record, and the hooks of all that it did were called; also of one that had nothing to do.

        `seconds` is what it took by itself; None for one that was made together with a reply.
        """

    # --- attempts at asks ---

    def ask_claimed(self, claim: Claim) -> None:
        """A worker claimed an ask."""

    def around_attempt(self, claim: Claim) -> AbstractContextManager[object]:
        """Return the context in which a claimed ask is answered, and the outcome written."""
        return _NOTHING_AROUND

    def attempt_ended(self, claim: Claim, outcome: Outcome) -> None:
        """The responder's own work is done; nothing of the outcome is on record yet."""

    def reply_stored(self, claim: Claim, reply: Reply, worked: float, written: float, *, moved: bool) -> None:
        """A reply is on record; `moved`: together with the run's next move.

        `worked` is what the responder took, `written` what it took to write the reply.
        """

    def reply_discarded(self, claim: Claim, reply: Reply, worked: float, written: float) -> None:
        """A reply came too late, so only its cost is on record; times are as in `reply_stored`."""

    def ask_deferred(self, claim: Claim, deferral: Deferral, worked: float) -> None:
        """An ask is deferred, after an attempt of so many seconds."""

    def ask_released(self, claim: Claim, release: Release, worked: float, *, late: bool) -> None:
        """An attempt was cancelled after so many seconds; `late`: the ask was another worker's by then."""

    def ask_parked(self, claim: Claim, parking: Parking) -> None:
        """An ask waits for a person's decision."""

    # --- batches of providers ---

    def provider_batch_ended(self, model: str, status: str, calls: Mapping[str, int]) -> None:
        """A batch is at its end, and deleted from the record.

        `status` is the provider's (`completed`, `expired`, `failed`, `cancelled`), or `refused`, `lost` (it no
        longer knows it) or `empty` (no ask waited for it). `calls` has the number of those that were `answered`,
        are collected `again`, are made `direct`, or are `discarded`, because no ask waits for them.
        """

    def batched_answer_unused(self, run: RunRecord, usage: Usage) -> None:
        """A batch has answered a call of the run that no ask waits for; its usage is on record."""

    # --- the record ---

    def run_accepted(self, run: RunRecord, seconds: float) -> None:
        """A gateway has accepted a run, so many seconds after the request arrived."""

    def events_stored(self, run: RunRecord, news: Sequence[News]) -> None:
        """A transaction that wrote events of a run is committed; `news` are those that an operator is told of."""

    # --- schedules ---

    def schedule_fired(self, fired: Fired) -> None:
        """A look at a schedule is on record, with the ticks that it made."""

    # --- watchers ---

    def watch_announced(self, notice: Announcement) -> None:
        """A gateway has told this process which runs are watched there."""

    # --- upkeep ---

    def leases_expired(self, asks: Sequence[AskRecord]) -> None:
        """A sweep took these asks from workers that fell silent."""

    def run_purged(self, run: OldRun) -> None:
        """Retention deleted a run."""

    def webhook_attempted(self, outcome: WebhookOutcome) -> None:
        """An attempt at the delivery of a webhook is on record."""


HOOKS = tuple(name for name in vars(Observer) if not name.startswith("_"))
# Part of the transaction in which they are called: what ends it has to pass.
_TRANSACTIONAL = frozenset({"move_began"})


class Observers(Observer):
    """Observers, each told in turn by calling a hook of this one.

    A hook that none of them has costs nothing: it stays that of `Observer`.
    """

    def __init__(self, *observers: Observer) -> None:
        for hook in HOOKS:
            calls = tuple(getattr(one, hook) for one in observers if _has(one, hook))
            if calls:
                make = _around if hook.startswith("around_") else _told
                setattr(self, hook, make(hook, calls))

    def moved(self, moved: Moved, seconds: float | None = None) -> None:
        """Call the hooks of all that a move did; `seconds` is as in `run_moved`."""
        if moved.began:
            self.run_started(moved.run)
        for item in moved.trace:
            if item.kind in ("taken", "passed", "none"):
                self.step_ended(moved.run, item, moved.at)
        if moved.ended:
            self.run_ended(moved.run)
        self.run_moved(moved, seconds)


NO_OBSERVERS = Observers()


def _has(observer: Observer, hook: str) -> bool:
    return hook in vars(observer) or getattr(type(observer), hook) is not getattr(Observer, hook)


def _told(hook: str, calls: Sequence[Callable[..., None]]) -> Callable[..., None]:
    passes: tuple[type[Exception], ...] = (EnvironmentFault, *DATABASE_ERRORS) if hook in _TRANSACTIONAL else ()

    def tell(*moment: Any, **more: Any) -> None:
        for call in calls:
            try:
                call(*moment, **more)
            except passes:
                raise
            except BaseException as error:
                if ends_process(error):
                    raise
                _log_failure(hook, call, error)

    return tell


def _around(
    hook: str, calls: Sequence[Callable[..., AbstractContextManager[object]]]
) -> Callable[..., AbstractContextManager[object]]:
    return lambda *moment: _Around(hook, calls, moment)


class _Around:
    """The contexts of all observers; an error of their own neither reaches the work within nor hides that of the work.

    A class, because one is around every move and every answer, and a generator over a stack costs three times as much.
    """

    __slots__ = ("_calls", "_hook", "_moment", "_open")

    def __init__(
        self, hook: str, calls: Sequence[Callable[..., AbstractContextManager[object]]], moment: tuple[Any, ...]
    ) -> None:
        self._hook, self._calls, self._moment = hook, calls, moment
        self._open: list[tuple[Callable[..., object], AbstractContextManager[object]]] = []

    def __enter__(self) -> None:
        for call in self._calls:
            try:
                context = call(*self._moment)
                context.__enter__()
            except BaseException as error:
                if ends_process(error):
                    raise
                _log_failure(self._hook, call, error)
            else:
                self._open.append((call, context))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for call, context in reversed(self._open):
            try:
                context.__exit__(kind, error, trace)
            except BaseException as failure:
                if ends_process(failure):
                    raise
                _log_failure(self._hook, call, failure)


def _log_failure(hook: str, call: Callable[..., object], error: BaseException) -> None:
    name = type(getattr(call, "__self__", call)).__name__
    logger.error(
        "The observer %s failed at %s", name, hook, extra={"action": "observer_failed", "hook": hook}, exc_info=error
    )
