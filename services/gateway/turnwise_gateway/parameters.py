"""Parameters of requests that several routes take, and how they are read."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Path, Query

from turnwise.errors import InvalidRequestError, NotFoundError
from turnwise.record.values.records import RunRecord
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.idempotency import LONGEST, PRINTABLE

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=LONGEST, pattern=PRINTABLE, description="The same key and body give the same run."),
]
Cursor = Annotated[str | None, Query(max_length=200, pattern=r"^[A-Za-z0-9_-]+$", description="Of the page before.")]
Filter = Annotated[str | None, Query(max_length=200, pattern=PRINTABLE)]
After = Annotated[
    str | None, Query(max_length=100, pattern=r"^[A-Za-z0-9._-]+$", description="`next_cursor` of the page before.")
]
Limit = Annotated[int, Query(ge=1, le=200)]
BatchId = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


def existing_run(run_id: str, gateway: Here) -> RunRecord:
    """The run in the path, for `Depends`; raises `NotFoundError`."""
    return gateway.record.run(known_form(run_id))


def known_form(run_id: str) -> str:
    """The id, if it can be one: no database is asked about anything else."""
    if not _RUN_ID.fullmatch(run_id):
        raise NotFoundError(f"there is no run {run_id!r}; list the runs to see which exist")
    return run_id


ExistingRun = Annotated[RunRecord, Depends(existing_run)]


def seconds_of(at: datetime | None, name: str) -> float | None:
    """The time of a filter in seconds since the epoch; raises `InvalidRequestError` for one without an offset."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise InvalidRequestError(f"{name} is {at.isoformat()}; add Z or an offset from UTC")
    return at.timestamp()
