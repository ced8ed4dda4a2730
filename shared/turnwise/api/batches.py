"""Batches: runs that were submitted together, their progress and their results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.details import AsGiven, ErrorDetail
from turnwise.api.open_values import OpenValues
from turnwise.api.runs import Refusal, Status, StoppedView, UsageView
from turnwise.api.view import View

BatchState = Literal["open", "running", "completed", "stopped", "cancelled", "expired"]
ItemState = Literal[
    "not_started", "queued", "running", "waiting", "completed", "limited", "failed", "cancelled", "deleted"
]


class BatchedRun(View):
    """One run of a batch; `GET /v1/runs/{id}` has the rest."""

    id: str
    task: str
    status: Status


class BatchBudgetView(View):
    """The limits of all runs of a batch together."""

    max_cost: str | None = Field(description="US dollars.")
    max_tokens: int | None


class BatchCountsView(View):
    """The number of a batch's items by status."""

    not_started: int
    queued: int
    running: int
    waiting: int
    completed: int
    limited: int = Field(description="Completed by a limit of cost or tokens: the result need not be the whole.")
    failed: int
    cancelled: int
    deleted: int = Field(description="Their runs are kept no longer.")


class BatchView(View):
    """A batch as it is now; of a repeated request, too."""

    id: str
    name: str | None
    task: str | None = Field(description="Null where its runs are of several tasks.")
    status: Annotated[BatchState, OpenValues()] = Field(
        description=(
            "open: takes further items; stopped: it ended at the limit of its budget; "
            "expired: it was not sealed in time."
        )
    )
    key: str | None = Field(description="The client's, for which the batch is opened once.")
    total: int = Field(description="Items so far.")
    counts: BatchCountsView
    concurrency: int = Field(description="Unfinished runs at a time.")
    budget: BatchBudgetView
    usage: UsageView = Field(description="Of all its runs, also of those of items that were begun anew.")
    stopped: Annotated[Literal["cost", "tokens"], OpenValues()] | None = Field(
        description="The limit of the budget for which no further item begins."
    )
    created_at: datetime
    sealed_at: datetime | None
    cancel_requested_at: datetime | None
    finished_at: datetime | None
    expired_at: datetime | None = Field(description="When it was closed because its client did not seal it.")
    runs: list[BatchedRun] = Field([], description="In the answer to a submission of `runs`: these, in its order.")


class BatchRetryView(View):
    """A page of items that were looked through for failed ones, and what became of these."""

    continued: int = Field(description="Failed runs that continue from where they failed.")
    restarted: int = Field(description="Items that begin anew, with another run.")
    refused: list[Refusal]
    next_after: int | None = Field(description="`after` of the next page; null: all items were looked through.")


class BatchResultView(View):
    """An item of a batch and what became of it."""

    line: int = Field(description="Its number in the input, from 1.")
    id: str | None = Field(description="The client's own.")
    run: str | None = Field(description="Null: it has not begun.")
    status: Annotated[ItemState, OpenValues()]
    status_code: str | None
    result: str | None = Field(description="The text of the run's result.")
    tools: list[dict[str, Any]] = Field(description="The tools of the result, each a JSON object with its name.")
    stopped: StoppedView | None = Field(description="The limit that ended the run.")
    error: Annotated[ErrorDetail, AsGiven()] | None
    usage: UsageView | None
