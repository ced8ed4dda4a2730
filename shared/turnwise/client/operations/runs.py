"""Runs: submitted, looked at, followed, ended, and continued with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnwise.api.events import EventPage
from turnwise.api.pages import Page
from turnwise.api.runs import BulkView, RunView, RunWithTree
from turnwise.api.timeline import TimelineView
from turnwise.api.transcript import TranscriptView
from turnwise.base.json_value import given
from turnwise.client.event_reading import EventReading
from turnwise.client.request import (
    ANSWER_SECONDS,
    Amount,
    Json,
    Request,
    limits_of,
    model,
    moment,
    path_of,
    text,
    waited,
)

# Of a page of runs that are changed one after the other.
_BULK_SECONDS = 120.0


def submit(
    task: str,
    message: str,
    *,
    history: Sequence[Mapping[str, str]] = (),
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    deadline: float | None = None,
    on_limit: str | None = None,
    can_wait: float | None = None,
    priority: int = 0,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    version: str | None = None,
    webhook: str | Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    wait: float = 0,
    watch: bool = False,
) -> Request[RunView]:
    """Submit a run. Returns it as accepted, or as it is at most `wait` seconds later.

    `max_cost` is in US dollars, `deadline` in seconds from now; `on_limit` is "end" or "wait" (for more budget).
    `can_wait` is the seconds that each call of a model may wait for a batch of its provider, at half the price.
    With `session_id` (letters, digits and `._:@-`, at most 128) the run continues where the last one of that session
    and task ended. `version` of the application is for installations that pin runs to versions; default: the
    gateway's. A call that failed may be repeated under the same `idempotency_key` without a second run. `watch`
    announces that its events are read at once, so that its first answer can stream as well. `history` was said before
    the message, elsewhere: mappings with a `role`, "user" or "assistant", and the `content`. `webhook` is the URL that
    events of the run are sent to, or a mapping with `url`, and perhaps `events` and `secret`; the answer's `webhook`
    has the secret that signs them.
    """
    amounts = {"max_tokens": max_tokens, "turns": turns, "deadline": deadline, "can_wait": can_wait}
    limits = limits_of(max_cost=max_cost, on_limit=on_limit, **amounts)
    body = {
        "task": task,
        "message": message,
        "limits": limits,
        "priority": priority,
        "tags": list(tags),
        "metadata": dict(metadata or {}),
        **given(history=[dict(said) for said in history] or None, session_id=session_id, version=version),
        **given(webhook=dict(webhook) if isinstance(webhook, Mapping) else webhook),
    }
    return Request(
        method="POST",
        path=path_of("runs"),
        read=model(RunView),
        params=given(wait=wait or None, watch="true" if watch else None),
        body=body,
        idempotency_key=idempotency_key,
        seconds=ANSWER_SECONDS + waited(wait),
    )


def run(run_id: str) -> Request[RunWithTree]:
    """Return a run with its limits, usage, open tasks and result."""
    return Request(method="GET", path=path_of("runs", run_id), read=model(RunWithTree))


def runs(
    *,
    q: str | None = None,
    status: str | None = None,
    task: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    batch: str | None = None,
    created_after: datetime | str | None = None,
    created_before: datetime | str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Request[Page[RunView]]:
    """Return a page of runs, newest first: `items`, and the `next_cursor` that gets the next one.

    Times have an offset; as text, they are RFC 3339, such as 2026-11-22T10:00:00Z. `q` is searched in ids and
    messages: a page of a search may have fewer items than `limit`, even none, and yet a `next_cursor` that continues.
    """
    params = given(
        q=q,
        status=status,
        task=task,
        tag=tag,
        session=session,
        batch=batch,
        created_after=moment(created_after),
        created_before=moment(created_before),
        cursor=cursor,
        limit=limit,
    )
    return Request(method="GET", path=path_of("runs"), read=model(Page[RunView]), params=params)


def events(run_id: str, after: int = 0, *, text: bool = False, patience: float = 60.0) -> EventReading:
    """Return a run's events after number `after`, as they happen, until its last one.

    Continues where it was after a broken connection; raises `GatewayUnavailableError` once nothing answered for
    `patience` seconds. `DeltaView` comes in between: a piece of an answer that is being written, without a number,
    which may be lost. Models send it whose settings say that they stream; with `text`, also those whose settings leave
    that open.
    """
    return EventReading(run_id, after, patience, text=text)


def transcript(run_id: str, *, rejected: bool = False) -> Request[TranscriptView]:
    """Return the run's conversation: the messages that were taken, each task's within its caller's.

    With `rejected`, also those that were no valid answers.
    """
    params = {"rejected": rejected} if rejected else {}
    path = path_of("runs", run_id, "transcript")
    return Request(method="GET", path=path, read=model(TranscriptView), params=params)


def history(
    run_id: str, *, after: int | None = None, before: int | None = None, limit: int = 100
) -> Request[EventPage]:
    """Return a page of the run's events, in order: the newest `limit`, or the next `after`, or the last `before` one.

    It has fewer where they are large; the next page is `after` its last one. `events` follows a run as it happens; this
    returns at once.
    """
    params = given(after=after, before=before, limit=limit)
    return Request(method="GET", path=path_of("runs", run_id, "history"), read=model(EventPage), params=params)


def log_page(run_id: str, *, download: bool = False) -> Request[str]:
    """Return the run's messages so far as a page of HTML that loads nothing; `download` is for browsers."""
    params = {"download": download} if download else {}
    return Request(method="GET", path=path_of("runs", run_id, "log"), read=text, params=params)


def timeline(run_id: str, *, after: int = -1, limit: int = 100) -> Request[TimelineView]:
    """Return where the run's time went: `summary`, `shares` and `slowest` of all of it, and a page of its `items`.

    `next_after` of the answer is the `after` of the next page.
    """
    params = {"after": after, "limit": limit}
    return Request(method="GET", path=path_of("runs", run_id, "timeline"), read=model(TimelineView), params=params)


def cancel(run_id: str, *, idempotency_key: str | None = None) -> Request[RunView]:
    """Ask for the run's end: it ends with KILL before another responder is asked. Returns the run as it is then."""
    return _change("POST", path_of("runs", run_id, "cancel"), None, idempotency_key)


def retry(
    run_id: str,
    *,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    deadline: float | None = None,
    idempotency_key: str | None = None,
) -> Request[RunView]:
    """Have a failed run continue from where it failed; the limits are from now on. Returns the run as it is then.

    Raises `ConflictError` for a run that has not failed, or of which another way is to be taken.
    """
    limits = limits_of(max_cost=max_cost, max_tokens=max_tokens, deadline=deadline)
    return _change("POST", path_of("runs", run_id, "retry"), {"limits": limits}, idempotency_key)


def cancel_runs(
    filter: Mapping[str, Any],
    *,
    dry_run: bool = False,
    cursor: str | None = None,
    limit: int = 100,
    idempotency_key: str | None = None,
) -> Request[BulkView]:
    """Ask for the end of a page of the unfinished runs that match `filter`: what matched, changed, was refused.

    `filter` has at least one of `status`, `task`, `tag`, `session`, `batch`, `error`, `created_after`,
    `created_before` and `finished_after`; `error` is a kind such as "unavailable", a code or a type of error, or a
    list of them. Send the answer's `created_before` with its `next_cursor`, so that no newer run matches.
    """
    body = given(filter=_conditions(filter), dry_run=dry_run, cursor=cursor, limit=limit)
    return _bulk("cancel", body, idempotency_key)


def retry_runs(
    filter: Mapping[str, Any],
    *,
    dry_run: bool = False,
    cursor: str | None = None,
    limit: int = 100,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    deadline: float | None = None,
    idempotency_key: str | None = None,
) -> Request[BulkView]:
    """Have a page of the failed runs that match continue, as `retry` does; pages and `filter` as of `cancel_runs`."""
    limits = limits_of(max_cost=max_cost, max_tokens=max_tokens, deadline=deadline)
    body = given(filter=_conditions(filter), dry_run=dry_run, cursor=cursor, limit=limit, limits=limits)
    return _bulk("retry", body, idempotency_key)


def fork(
    run_id: str,
    at: int,
    *,
    message: str | None = None,
    model: str | None = None,
    version: str | None = None,
    session_id: str | None = None,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    deadline: float | None = None,
    on_limit: str | None = None,
    can_wait: float | None = None,
    idempotency_key: str | None = None,
) -> Request[RunView]:
    """Make a run that has the past of `run_id` up to its event `at`, and continues from there. Returns the new run.

    `message` is the answer of whoever is asked there (a human, a model, tool handlers), or the first message of a run
    that has not begun there; `model` is for all its agents; `session_id`, which must be new, begins with the fork.
    """
    amounts = {"max_tokens": max_tokens, "turns": turns, "deadline": deadline, "can_wait": can_wait}
    limits = limits_of(max_cost=max_cost, on_limit=on_limit, **amounts)
    body = given(at=at, limits=limits, message=message, model=model, version=version, session_id=session_id)
    return _change("POST", path_of("runs", run_id, "fork"), body, idempotency_key)


def change_limits(
    run_id: str,
    *,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    idempotency_key: str | None = None,
) -> Request[RunView]:
    """Give a run that has not ended other limits (None leaves one); if it waited for that, it continues."""
    limits = limits_of(max_cost=max_cost, max_tokens=max_tokens)
    return _change("PATCH", path_of("runs", run_id), {"limits": limits}, idempotency_key)


def _change(method: str, path: str, body: Json | None, key: str | None) -> Request[RunView]:
    return Request(method=method, path=path, read=model(RunView), body=body, idempotency_key=key)


def _bulk(action: str, body: Json, key: str | None) -> Request[BulkView]:
    return Request(
        method="POST",
        path=path_of("runs", action),
        read=model(BulkView),
        body=body,
        idempotency_key=key,
        seconds=_BULK_SECONDS,
    )


def _conditions(filter: Mapping[str, Any]) -> Json:
    """Return a filter as the API takes it; its times may be such as an answer has them."""
    return {name: moment(value) if isinstance(value, datetime) else value for name, value in filter.items()}
