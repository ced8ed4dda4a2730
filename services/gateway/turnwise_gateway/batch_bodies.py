"""The bodies of requests about batches."""

from __future__ import annotations

from pydantic import Field

from turnwise.api.batch_item import BatchItemBody, Name
from turnwise.api.body import Body, Money
from turnwise_gateway.bodies import Submission

# Runs of one request. Its transaction, which other submissions of a tenant with a limit of runs wait for, stays short.
_MAX_RUNS = 500
# Items of a part, of which no run is made in its transaction.
_MAX_ITEMS = 1_000
_MAX_CONCURRENCY = 1_000


class SubmittedBatch(Body):
    """Runs to be made together."""

    runs: list[Submission] = Field(
        min_length=1, max_length=_MAX_RUNS, description="Each as the body of `POST /v1/runs`; all are made, or none."
    )


class OpenedBatch(Body):
    """A batch of a task, to be filled with items and sealed."""

    task: str = Field(min_length=1, max_length=200, examples=["support"])
    name: Name | None = Field(None, min_length=1, max_length=200, examples=["orders of November"])
    key: Name | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="A batch of that key is opened once.",
    )
    max_cost: Money = Field(
        None, description="US dollars for all its runs together, a decimal string; 0 is no limit.", examples=["5.00"]
    )
    max_tokens: int | None = Field(None, ge=0, lt=2**53, description="For all its runs together; 0 is no limit.")
    concurrency: int = Field(100, ge=1, le=_MAX_CONCURRENCY, description="Unfinished runs at a time.")


class BatchPart(Body):
    """The items of a batch that come next."""

    first: int = Field(
        ge=1, lt=2**31, description="The number of the first item, from 1. A part that is there is not added again."
    )
    items: list[BatchItemBody] = Field(min_length=1, max_length=_MAX_ITEMS)


class BatchRetry(Body):
    """A page of the batch's items, and the terms on which those that failed continue."""

    after: int = Field(0, ge=0, lt=2**31, description="`next_after` of the page before.")
    limit: int = Field(200, ge=1, le=500, description="Items that are looked through.")
    anew: bool = Field(
        False, description="Begin items anew whose runs cannot continue: their models and tools are asked again."
    )
    max_cost: Money = Field(None, description="Of the batch's budget from now on, US dollars; 0 is no limit.")
    max_tokens: int | None = Field(
        None, ge=0, lt=2**53, description="Of the batch's budget from now on; 0 is no limit."
    )
