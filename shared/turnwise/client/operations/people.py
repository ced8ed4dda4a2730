"""Requests about the inbox, the answers of humans, and sessions."""

from __future__ import annotations

from typing import Any, Literal

from turnwise.api.inbox import InboxCountView, InboxItem
from turnwise.api.pages import Page
from turnwise.api.runs import RunView
from turnwise.api.sessions import SessionView
from turnwise.base.json_value import given
from turnwise.client.request import Request, items, model, nothing, path_of


def answer(
    run_id: str, text: str, question: str | None = None, *, idempotency_key: str | None = None
) -> Request[RunView]:
    """Answer a question; `question` may be left out if exactly one is open. Returns the run as it is then."""
    return Request(
        method="POST",
        path=path_of("runs", run_id, "messages"),
        read=model(RunView),
        body=given(text=text, question=question),
        idempotency_key=idempotency_key,
    )


def inbox(limit: int = 100) -> Request[list[InboxItem]]:
    """Return what waits for a human, oldest first, at most `limit`: questions, and parked asks, as `kind` says.

    A question (`question`) is answered with `answer`, a parked ask (`parked`) is resolved with `resolve`.
    """
    return Request(method="GET", path=path_of("inbox"), read=items(Page[InboxItem]), params={"limit": limit})


def inbox_page(*, cursor: str | None = None, limit: int = 100) -> Request[Page[InboxItem]]:
    """Return a page of what `inbox` returns: `items`, and the `next_cursor` that gets the next one."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("inbox"), read=model(Page[InboxItem]), params=params)


def inbox_count() -> Request[InboxCountView]:
    """Return how many questions and parked asks wait for a human, and when the latest of them came."""
    return Request(method="GET", path=path_of("inbox", "count"), read=model(InboxCountView))


def resolve(
    item_id: str,
    outcome: Literal["happened", "again", "fail"],
    result: Any = None,
    *,
    idempotency_key: str | None = None,
) -> Request[RunView]:
    """Say how to continue with a parked ask. Returns the run as it is then.

    - `happened`: its handler has done its work, with that `result` (a text, or what JSON can express; None if it
      returned nothing); it is not called again.
    - `again`: the handler, or the model, is called again; a handler with the same idempotency key.
    - `fail`: the run ends with an error.

    Raises `ConflictError` (`already_resolved`) if it was resolved before.
    """
    return Request(
        method="POST",
        path=path_of("inbox", item_id),
        read=model(RunView),
        body=given(outcome=outcome, result=result),
        idempotency_key=idempotency_key,
    )


def session(session_id: str) -> Request[SessionView]:
    """Return what a session remembers, task by task, and what its runs used."""
    return Request(method="GET", path=path_of("sessions", session_id), read=model(SessionView))


def delete_session(session_id: str) -> Request[None]:
    """Forget a session's conversations; `ConflictError` (`session_in_use`) while a run of it has not ended."""
    return Request(method="DELETE", path=path_of("sessions", session_id), read=nothing)
