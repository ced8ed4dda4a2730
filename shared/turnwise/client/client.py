"""Turnwise over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import httpx2

from turnwise.client.administration import Administration
from turnwise.client.stream import EventStream, run_path

Json: TypeAlias = dict[str, Any]

# Seconds; a submission may wait longer, and adds what it waits.
_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
_BULK_TIMEOUT = httpx2.Timeout(120.0, connect=5.0)


class Client(Administration):
    """A gateway at `base_url`, for instance http://127.0.0.1:8080.

    `token` is an API key or the server's token, where it asks for one.

    Answers are the JSON objects of the API (see its /docs). What the gateway refuses is raised as the class of
    `turnwise.errors` that has the problem's code; `GatewayUnavailableError` if nothing answers. May be shared between
    threads, and is closed by `with` or `close`.
    """

    def __init__(
        self, base_url: str, token: str | None = None, *, transport: httpx2.BaseTransport | None = None
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.base_url = base_url.rstrip("/")
        self._http = httpx2.Client(base_url=self.base_url, headers=headers, timeout=_TIMEOUT, transport=transport)

    def submit(
        self,
        task: str,
        message: str,
        *,
        max_cost: Decimal | None = None,
        max_tokens: int | None = None,
        turns: int | None = None,
        deadline: float | None = None,
        on_limit: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        version: str | None = None,
        idempotency_key: str | None = None,
        wait: float = 0,
        watch: bool = False,
    ) -> Json:
        """Submit a run and get it as accepted, or as it is at most `wait` seconds later.

        `max_cost` is in US dollars, `deadline` in seconds from now; `on_limit` is "end" or "wait" (for more budget).
        With `session_id` (letters, digits and `._:@-`, at most 128) the run goes on where the last one of that session
        and task ended. `version` of the application is for installations that pin runs to versions; default: the
        gateway's. A call that failed may be repeated under the same `idempotency_key` without a second run. `watch`
        announces that its events are read at once, so that its first answer can stream as well.
        """
        body = {
            "task": task,
            "message": message,
            "limits": _limits(
                max_cost=max_cost, max_tokens=max_tokens, turns=turns, deadline=deadline, on_limit=on_limit
            ),
            "priority": priority,
            "tags": list(tags),
            "metadata": dict(metadata or {}),
            **({} if session_id is None else {"session_id": session_id}),
            **({} if version is None else {"version": version}),
        }
        return self._call(
            "POST",
            "/v1/runs",
            json=body,
            headers={"Idempotency-Key": idempotency_key} if idempotency_key else None,
            params=({"wait": wait} if wait else {}) | ({"watch": "true"} if watch else {}),
            timeout=httpx2.Timeout(30.0 + wait, connect=5.0),
        )

    def run(self, run_id: str) -> Json:
        """A run with its limits, usage, open tasks and result."""
        return self._call("GET", run_path(run_id))

    def runs(
        self,
        *,
        status: str | None = None,
        task: str | None = None,
        tag: str | None = None,
        session: str | None = None,
        created_after: str | None = None,
        created_before: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Json:
        """A page of runs, newest first: `items`, and `next_cursor` to ask for the next one."""
        given = {
            "status": status,
            "task": task,
            "tag": tag,
            "session": session,
            "created_after": created_after,
            "created_before": created_before,
            "cursor": cursor,
            "limit": limit,
        }
        return self._call("GET", "/v1/runs", params={name: value for name, value in given.items() if value is not None})

    def events(self, run_id: str, after: int = 0, *, text: bool = False, patience: float = 60.0) -> Iterator[Json]:
        """A run's events after number `after`, as they happen, until its last one.

        Goes on where it was after a broken connection; raises `GatewayUnavailableError` once nothing answered for
        `patience` seconds. `llm.delta` comes in between, without a number, and may be lost. Models send it whose
        settings say that they stream; with `text`, also those whose settings leave that open.
        """
        return EventStream(self._http, self.run, run_id, after, patience, text=text).read()

    def transcript(self, run_id: str) -> Json:
        """The run's conversation: the messages that were taken, each task's within its caller's."""
        return self._call("GET", run_path(run_id, "transcript"))

    def timeline(self, run_id: str, *, after: int = -1, limit: int = 100) -> Json:
        """Where the run's time went: `summary`, `shares` and `slowest` of all of it, and a page of its `items`.

        `next_after` of the answer is the `after` of the next page.
        """
        return self._call("GET", run_path(run_id, "timeline"), params={"after": after, "limit": limit})

    def answer(self, run_id: str, text: str, question: str | None = None) -> Json:
        """Answer a question; `question` may be left out if exactly one is open. The run, as it is then."""
        body = {"text": text} if question is None else {"text": text, "question": question}
        return self._call("POST", run_path(run_id, "messages"), json=body)

    def cancel(self, run_id: str) -> Json:
        """Ask for the run's end: it ends with KILL before anybody else is asked. The run, as it is then."""
        return self._call("POST", run_path(run_id, "cancel"))

    def retry(
        self,
        run_id: str,
        *,
        max_cost: Decimal | None = None,
        max_tokens: int | None = None,
        deadline: float | None = None,
    ) -> Json:
        """Have a failed run go on from where it failed; the limits are from now on. The run, as it is then.

        Raises `ConflictError` for a run that has not failed, or of which another way is to be taken.
        """
        limits = _limits(max_cost=max_cost, max_tokens=max_tokens, deadline=deadline)
        return self._call("POST", run_path(run_id, "retry"), json={"limits": limits})

    def cancel_runs(
        self, filter: Mapping[str, Any], *, dry_run: bool = False, cursor: str | None = None, limit: int = 100
    ) -> Json:
        """Ask for the end of a page of the unfinished runs that match `filter`: what matched, changed, was refused.

        `filter` has at least one of `status`, `task`, `tag`, `session`, `error`, `created_after`, `created_before` and
        `finished_after`; `error` is a kind such as "unavailable", a code or a type of error, or a list of them. Send
        the answer's `created_before` with its `next_cursor`, so that no newer run matches.
        """
        return self._bulk("cancel", filter, dry_run=dry_run, cursor=cursor, limit=limit)

    def retry_runs(
        self,
        filter: Mapping[str, Any],
        *,
        dry_run: bool = False,
        cursor: str | None = None,
        limit: int = 100,
        max_cost: Decimal | None = None,
        max_tokens: int | None = None,
        deadline: float | None = None,
    ) -> Json:
        """Have a page of the failed runs that match go on, as `retry` does; pages and `filter` as of `cancel_runs`."""
        limits = _limits(max_cost=max_cost, max_tokens=max_tokens, deadline=deadline)
        return self._bulk("retry", filter, dry_run=dry_run, cursor=cursor, limit=limit, limits=limits)

    def _bulk(self, action: str, filter: Mapping[str, Any], **more: Any) -> Json:
        body = {"filter": dict(filter)} | {name: value for name, value in more.items() if value is not None}
        return self._call("POST", f"/v1/runs/{action}", json=body, timeout=_BULK_TIMEOUT)

    def fork(
        self,
        run_id: str,
        at: int,
        *,
        message: str | None = None,
        model: str | None = None,
        version: str | None = None,
        session_id: str | None = None,
        max_cost: Decimal | None = None,
        max_tokens: int | None = None,
        turns: int | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Make a run that has the past of `run_id` up to its event `at`, and goes on from there. The new run.

        `message` answers the question that is open there, or is the first message of a run that has not begun there;
        `model` is for all its agents; `session_id`, which must be new, begins with the fork.
        """
        given = {"message": message, "model": model, "version": version, "session_id": session_id}
        body = {
            "at": at,
            "limits": _limits(max_cost=max_cost, max_tokens=max_tokens, turns=turns, deadline=deadline),
        }
        return self._call(
            "POST",
            run_path(run_id, "fork"),
            json=body | {name: value for name, value in given.items() if value is not None},
            headers={"Idempotency-Key": idempotency_key} if idempotency_key else None,
        )

    def change_limits(self, run_id: str, *, max_cost: Decimal | None = None, max_tokens: int | None = None) -> Json:
        """Give a run that has not ended other limits (None leaves one); if it waited for that, it goes on."""
        limits = _limits(max_cost=max_cost, max_tokens=max_tokens)
        return self._call("PATCH", run_path(run_id), json={"limits": limits})

    def session(self, session_id: str) -> Json:
        """What a session remembers, task by task, and what its runs used."""
        return self._call("GET", session_path(session_id))

    def delete_session(self, session_id: str) -> None:
        """Forget a session's conversations; `ConflictError` (`session_in_use`) while a run of it has not ended."""
        self._request("DELETE", session_path(session_id))

    def inbox(self, limit: int = 100) -> list[Json]:
        """What waits for a human, oldest first, at most `limit`: questions, and parked asks, as `kind` says.

        A question (`question`) is answered with `answer`, a parked ask (`parked`) is resolved with `resolve`.
        """
        return self._items("/v1/inbox", limit=limit)

    def resolve(self, item_id: str, outcome: Literal["happened", "again", "fail"], result: Any = None) -> Json:
        """Say how to go on with a parked ask. The run, as it is then.

        - `happened`: its handler has done its work, with that `result` (a text, or what JSON can express; None if it
          returned nothing); it is not called again.
        - `again`: the handler, or the model, is called again; a handler with the same idempotency key.
        - `fail`: the run ends with an error.

        `ConflictError` (`already_resolved`) if somebody was faster.
        """
        body = {"outcome": outcome} if result is None else {"outcome": outcome, "result": result}
        return self._call("POST", f"/v1/inbox/{quote(item_id, safe='')}", json=body)

    def tasks(self) -> list[Json]:
        """The tasks of the application, of which runs can be made."""
        return self._items("/v1/tasks")

    def workers(self) -> list[Json]:
        """The worker processes that serve the application, newest first."""
        return self._items("/v1/workers")

    def queues(self) -> list[Json]:
        """The queues that hold asks for responders: how many each holds, and for how long the oldest has waited."""
        return self._items("/v1/queues")

    def close(self) -> None:
        """Close the connections; the client may not be used afterwards."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _items(self, path: str, **params: Any) -> list[Json]:
        items: list[Json] = self._call("GET", path, params=params)["items"]
        return items


def _limits(*, max_cost: Decimal | None, **others: float | str | None) -> Json:
    """Limits as the API takes them, without those that are not given."""
    given = {"max_cost": None if max_cost is None else format(max_cost, "f"), **others}
    return {name: value for name, value in given.items() if value is not None}


def session_path(session_id: str) -> str:
    """The path of a session, whatever its id is made of."""
    return f"/v1/sessions/{quote(session_id, safe='')}"
