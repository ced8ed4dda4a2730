"""Batches: opened, filled in parts, watched, read out, cancelled and taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from turnwise.api.batches import BatchResultView, BatchRetryView, BatchView
from turnwise.api.pages import Page
from turnwise.base.json_value import given
from turnwise.client.request import Amount, Json, Request, model, money, path_of

# Of a part with many items, and of a page of runs that continue one after the other.
_PART_SECONDS = 120.0


def submit_batch(runs: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Request[BatchView]:
    """Submit many runs, all or none of which are accepted. Returns the batch, with `runs` in this order.

    Each is a mapping with the fields of a submission over HTTP: `task` and `message`, and perhaps `limits`,
    `session_id`, `priority`, `tags` and so on. At most 500. A call that failed may be repeated under the same
    `idempotency_key` without further runs.
    """
    return _change([], {"runs": [dict(one) for one in runs]}, idempotency_key)


def open_batch(
    task: str,
    *,
    name: str | None = None,
    key: str | None = None,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    concurrency: int | None = None,
    idempotency_key: str | None = None,
) -> Request[BatchView]:
    """Open a batch of a task, to be filled by `add_batch_items` and closed by `seal_batch`.

    The limits are for all its runs together; `concurrency` of them are unfinished at a time (default: 100). With a
    `key` the batch is opened once: opened again, it is the same, with the limits that it has.
    """
    limits = given(max_cost=money(max_cost), max_tokens=max_tokens, concurrency=concurrency)
    return _change(["open"], {"task": task, **given(name=name, key=key), **limits}, idempotency_key)


def add_batch_items(
    batch_id: str, first: int, items: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
) -> Request[BatchView]:
    """Add up to 1,000 items to an open batch; `first` is the number of the first one, `total` of the batch plus 1.

    Each is a mapping with `message`, and perhaps `id`, `limits`, `priority`, `tags` and `metadata`. A part that is
    there already is not added again.
    """
    body = {"first": first, "items": [dict(one) for one in items]}
    return _change([batch_id, "items"], body, idempotency_key)


def seal_batch(batch_id: str, *, idempotency_key: str | None = None) -> Request[BatchView]:
    """Close a batch to further items: it ends when those that it has are done."""
    return _change([batch_id, "seal"], None, idempotency_key)


def batch(batch_id: str) -> Request[BatchView]:
    """Return a batch with its items counted by status, and what its runs have used."""
    return Request(method="GET", path=path_of("batches", batch_id), read=model(BatchView))


def batches(*, cursor: str | None = None, limit: int = 20) -> Request[Page[BatchView]]:
    """Return a page of batches, newest first."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("batches"), read=model(Page[BatchView]), params=params)


def batch_results(batch_id: str, *, after: int = 0, limit: int = 500) -> Request[Page[BatchResultView]]:
    """Return a page of a batch's items as they are now, in the order of the input; those behind line `after`."""

    def read(response: httpx2.Response) -> Page[BatchResultView]:
        # Not splitlines(): JSON text may hold characters such as U+2028 that it takes for line ends.
        lines = [BatchResultView.model_validate_json(line) for line in response.text.split("\n") if line]
        return Page(items=lines, next_cursor=str(lines[-1].line) if len(lines) == limit else None)

    params = {"after": after, "limit": limit}
    return Request(
        method="GET", path=path_of("batches", batch_id, "results"), read=read, params=params, cursor_param="after"
    )


def cancel_batch(batch_id: str, *, idempotency_key: str | None = None) -> Request[BatchView]:
    """Begin no further item of a batch, and end the runs that have begun."""
    return _change([batch_id, "cancel"], None, idempotency_key)


def retry_batch(
    batch_id: str,
    *,
    after: int = 0,
    limit: int = 200,
    anew: bool = False,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    idempotency_key: str | None = None,
) -> Request[BatchRetryView]:
    """Have the failed items of a page continue, and begin those that the budget kept back.

    `next_after` of the answer is the `after` of the next page. With `anew`, items begin anew whose runs cannot
    continue. The limits are those of the batch's budget from now on.
    """
    body = given(after=after, limit=limit, anew=anew, max_cost=money(max_cost), max_tokens=max_tokens)
    return Request(
        method="POST",
        path=path_of("batches", batch_id, "retry"),
        read=model(BatchRetryView),
        body=body,
        idempotency_key=idempotency_key,
        seconds=_PART_SECONDS,
    )


def _change(path: Sequence[str], body: Json | None, key: str | None) -> Request[BatchView]:
    return Request(
        method="POST",
        path=path_of("batches", *path),
        read=model(BatchView),
        body=body,
        idempotency_key=key,
        seconds=_PART_SECONDS,
    )
