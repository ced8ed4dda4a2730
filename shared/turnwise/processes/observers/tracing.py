"""The places of a served run's steps among traces.

A *stretch* of a run is what continues without a long wait; it is one trace. Its first span is what began it: the
request that submitted the run, or the one that answered its question. The moves of the stretch are within that, side by
side, and what a move asked for is within the move:

    POST /v1/runs
      move desk                 the gateway's, or a coordinator's
        send llm
        invoke_agent Desk       the worker's
          chat gpt-5
      move desk
        ...
      invoke_workflow desk      written at the end: from the acceptance to the end

What begins more than a minute after what it follows (the worker was away, a provider had no room, a run was retried)
begins a stretch, with links to what it follows and to the run's submission.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from turnwise.agents.observed import invoking
from turnwise.app import App
from turnwise.base.contextual import Bound
from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.context import trace_id
from turnwise.observability.telemetry.conversation import about
from turnwise.observability.telemetry.spans import NO_SPAN, Spot, begins_at, begun, current, listened, record
from turnwise.record.states import RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Deferral, Outcome, Release, Reply
from turnwise.record.values.records import AskRecord, Claim, ReplyRecord, RunRecord
from turnwise.serving.observer import Observer

# Seconds between a step and what it follows, within which they belong to one stretch.
TOGETHER = 60.0


@dataclass(frozen=True, kw_only=True)
class SpanPlace:
    """The place of a step's span: within `parent`, or, if that is None, at the beginning of a trace.

    `begins`: a stretch of the run begins here, with the parent, or with the step itself if there is none.
    """

    parent: str | None = None
    links: dict[str, str | None] = field(default_factory=dict)
    begins: bool = False


def place_of_move(run: RunRecord, ask: AskRecord | None, reply: ReplyRecord | None, now: float) -> SpanPlace:
    """Return where a move goes that was made at `now` (s since the epoch), because of a reply if there is one."""
    stretch = run.stretch or run.traceparent
    answered = reply.traceparent if reply is not None else None
    asked = ask.traceparent if ask is not None else None
    since = reply.at if reply is not None else (ask.created_at if ask is not None else run.created_at)
    if now - since > TOGETHER:
        return SpanPlace(links=_linked(follows=answered or asked or stretch, run=run.traceparent), begins=True)
    if answered is None or trace_id(answered) == trace_id(stretch):
        return SpanPlace(parent=stretch)
    return SpanPlace(parent=answered, links=_linked(asked=asked, run=run.traceparent), begins=True)


def place_of_attempt(ask: AskRecord, run: RunRecord) -> SpanPlace:
    """Return where an attempt at a claimed ask goes."""
    asked = ask.traceparent or run.stretch or run.traceparent
    if (ask.claimed_at or ask.created_at) - ask.created_at > TOGETHER:
        return SpanPlace(links=_linked(follows=asked, run=run.traceparent), begins=True)
    return SpanPlace(parent=asked)


def _linked(**links: str | None) -> dict[str, str | None]:
    """Each context once, under the first name that it has."""
    found: dict[str, str | None] = {}
    for what, to in links.items():
        if to is not None and to not in found.values():
            found[what] = to
    return found


class _MoveSpan:
    """The span of one move: from here on, if it turns out that there is a move to make, until the block is left."""

    def __init__(self) -> None:
        self._from = begins_at()
        self._spot: Spot | None = None
        self._open = ExitStack()

    def begin(self, tx: RunTransaction) -> None:
        """There is a move to make: find its place."""
        run = tx.run
        first = run.awaiting is None
        place = place_of_move(run, None if first else tx.open_ask(), None if first else tx.reply(), tx.now)
        spot = begun(
            f"{names.MOVE} {run.task}",
            _of_run(run) | {names.TASK: run.task},
            parent=place.parent,
            links=place.links,
            root=True,
            start_time=self._from,
        )
        self._spot = spot
        self._open.enter_context(current(spot))
        if place.begins or place.parent is None:
            tx.change(stretch=place.parent or spot.traceparent)

    def made(self, run: RunRecord) -> None:
        """The move is made, and that is the run now."""
        if self._spot is not None:
            self._spot.set({names.STATUS: run.status_code or run.status})
            if run.status == RunStatus.FAILED and run.error is not None:
                self._spot.failed(str(run.error.type or run.status_code))

    def __enter__(self) -> _MoveSpan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        if self._spot is not None and self._spot.span is not None:
            if kind is not None:
                self._spot.failed(kind.__qualname__)
            self._spot.span.end()


_move: ContextVar[_MoveSpan | None] = ContextVar("turnwise_move_span", default=None)
_attempt: ContextVar[Spot | None] = ContextVar("turnwise_attempt_span", default=None)


class RunTracing(Observer):
    """Writes the spans of moves, of attempts and of whole runs, where someone takes them.

    The contexts of the first two are current while they last, so what is written meanwhile refers to them.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    def around_move(self, run_id: str) -> AbstractContextManager[object]:
        """Take the time; there is no span before there is a move to make."""
        return _moving() if listened() else NO_SPAN

    def move_began(self, transaction: RunTransaction) -> None:
        """Begin the move's span, and note with the run if a stretch of it begins here."""
        if (span := _move.get()) is not None:
            span.begin(transaction)

    def move_made(self, run: RunRecord) -> None:
        """Tell the outcome of the move."""
        if (span := _move.get()) is not None:
            span.made(run)

    def around_attempt(self, claim: Claim) -> AbstractContextManager[object]:
        """Have the attempt within a span, with what every span of the run carries."""
        return _attempting(claim, self._app) if listened(names.AGENT_DURATION) else NO_SPAN

    def attempt_ended(self, claim: Claim, outcome: Outcome) -> None:
        """Tell the outcome of the attempt."""
        if (spot := _attempt.get()) is not None:
            _tell_outcome(spot, outcome)

    def run_ended(self, run: RunRecord) -> None:
        """Write the span of the whole run."""
        _tell_whole_run(run)


@contextmanager
def _moving() -> Iterator[None]:
    with _MoveSpan() as span, Bound(_move, span):
        yield


@contextmanager
def _attempting(claim: Claim, app: App) -> Iterator[None]:
    ask, run = claim.ask, claim.run
    place = place_of_attempt(ask, run)
    told = {
        names.AGENT: _agent_name(app, run, ask),
        names.RESPONDER: ask.responder,
        names.ASK: ask.id,
        names.ATTEMPT: ask.attempts + ask.deferrals,
        names.WORKER: claim.worker_id,
    }
    conversation = about(run=run.id, conversation=run.session_id or run.id, task=ask.path, turn=ask.turn)
    with conversation, invoking(told, parent=place.parent, links=place.links, root=True) as spot, Bound(_attempt, spot):
        yield


def _tell_outcome(spot: Spot, outcome: Outcome) -> None:
    kind = outcome.kind if isinstance(outcome, Reply) else type(outcome).__name__.lower()
    spot.set({names.OUTCOME: kind})
    if isinstance(outcome, Deferral):
        error = outcome.failed.error if outcome.failed is not None else None
    else:
        error = None if isinstance(outcome, Release) else outcome.error
    if error is not None:
        found = error.as_json()
        spot.failed(str(found.get("type") or found.get("kind") or kind))


def _agent_name(app: App, run: RunRecord, ask: AskRecord) -> str:
    try:
        return app.tree(run.task).agents[ask.agent].config.name
    except Exception:  # noqa: BLE001 - what is wrong with the application, the answer will tell
        return ask.agent_name


def _tell_whole_run(run: RunRecord) -> None:
    """Write the span of a whole run, once it has ended: a span cannot stay open for days, in processes that may die."""
    if not listened(names.WORKFLOW_DURATION) or run.finished_at is None:
        return
    told = _of_run(run) | {
        names.OPERATION: names.INVOKE_WORKFLOW,
        names.WORKFLOW: run.task,
        names.STATUS: run.status_code,
        names.INPUT_TOKENS: run.prompt_tokens,
        names.OUTPUT_TOKENS: run.completion_tokens,
        names.COST: float(run.cost),
    }
    spot = begun(
        f"{names.INVOKE_WORKFLOW} {run.task}",
        told,
        parent=run.traceparent,
        links=_linked(ended=run.stretch),
        start_time=int(run.created_at * 1e9),
    )
    if run.status == RunStatus.FAILED:
        spot.failed(str(run.status_code))
    if spot.span is not None:
        spot.span.end(int(run.finished_at * 1e9))
    measured = {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW: run.task} | spot.measured
    record(names.WORKFLOW_DURATION, run.finished_at - run.created_at, measured)


def _of_run(run: RunRecord) -> dict[str, Any]:
    """Return what every span of a run carries."""
    return {names.RUN: run.id, names.CONVERSATION: run.session_id or run.id}
