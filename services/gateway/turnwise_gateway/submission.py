"""From the body of a request to a run on record."""

from __future__ import annotations

from turnwise.messages.given_history import with_history
from turnwise.messages.wire import encode_document
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.processes.new_runs import limits_of_run, version_of_run
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.tasks.entry import document_of
from turnwise_gateway.bodies import Submission
from turnwise_gateway.gateway import Gateway


def submit_with_move(gateway: Gateway, new: NewRun) -> RunRecord:
    """Keep the run, with its first move where this process may make it."""
    run, created, moved = gateway.first_moves.submit(gateway.record, new, gateway.dispatcher, gateway.observers)
    if created and moved is None:
        gateway.dispatcher.wake(run)
    return run


def submit_without_move(gateway: Gateway, new: NewRun) -> RunRecord:
    """Leave the first move to a coordinator: meanwhile workers hear that the run is watched."""
    run, created = gateway.record.submit(new)
    if created:
        gateway.dispatcher.wake(run)
    return run


def new_run(gateway: Gateway, body: Submission, run_id: str, key: str | None = None) -> NewRun:
    """The run that a body asks for; raises `UnknownTaskError` and `InvalidRequestError`."""
    settings, limits = gateway.settings, body.limits
    version = version_of_run(settings, gateway.app, body.version, body.task)
    return NewRun(
        id=run_id,
        task=body.task,
        version=version,
        # A message over HTTP is tainted: a human may have typed it.
        message=with_history(encode_document(document_of(body.message)), [one.given() for one in body.history]),
        priority=body.priority,
        tags=tuple(body.tags),
        metadata=body.metadata,
        session_id=body.session_id,
        **limits_of_run(
            settings,
            max_cost=limits.max_cost,
            max_tokens=limits.max_tokens,
            turns=limits.turns,
            on_limit=limits.on_limit,
            deadline=limits.deadline,
            can_wait=limits.can_wait,
        ),
        idempotency_key=key,
        body_hash=body.digest() if key else None,
        traceparent=current_traceparent(),
    )
