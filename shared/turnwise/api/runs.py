"""Runs, and what became of a page of them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from turnwise.api.details import AsGiven, ErrorDetail, ForkedFrom, WaitingFor
from turnwise.api.open_values import OpenValues
from turnwise.api.view import View
from turnwise.api.webhooks import RunWebhookView

Status = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]


class LimitsView(View):
    """The limits of a run."""

    max_cost: str | None
    max_tokens: int | None
    turns: int | None
    deadline: float | None = Field(description="Seconds from the acceptance.")
    on_limit: str | None = Field(description="end or wait; null: as the server is set.")
    can_wait: float | None = Field(
        None, description="Seconds that calls of models may wait for a batch of their provider; null: as the tasks say."
    )


class UsageView(View):
    """The use of a run so far; `cost` leaves out the `unpriced_calls`."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    unpriced_calls: int
    cost: str


class RunUsageView(UsageView):
    """The use of a run so far, and the reservations of its calls under way."""

    reserved_cost: str = Field(description="US dollars.")
    reserved_tokens: int


class ResultView(View):
    """The result: the text, and the tools, each a JSON object with its name as `$tool`."""

    content: str
    tools: list[dict[str, Any]]
    status: str | None
    document: dict[str, Any]

    @property
    def text(self) -> str:
        """The text, or the tools as JSON where there is no text."""
        if self.content or not self.tools:
            return self.content
        return json.dumps(self.tools if len(self.tools) > 1 else self.tools[0], ensure_ascii=False)


class StoppedView(View):
    """The limit that ended a run: no one knows whether its work is done."""

    limit: Annotated[Literal["cost", "tokens", "turns", "max_turns", "time", "stalled_steps"], OpenValues()]
    scope: str = Field(description="Whose limit it is: run, batch, session, tenant_day or tenant_month.")
    value: str | float | None = Field(description="Of cost a decimal string; a number of tokens, turns or seconds.")
    used: str | float | None = Field(description="Of it, for cost and tokens.")
    why: str | None = Field(description="Why a call was refused, for instance because its model has no known price.")
    message: str = Field(description="All of it in one line.", examples=["stopped: cost limit $0.05, $0.0312 used"])


class FrameView(View):
    """A task that is being worked on, and the tasks that it called."""

    task: str = Field(description="Path of the task.", examples=["triage/billing"])
    children: list[FrameView] = Field([])


class LinksView(View):
    """Links of a run."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    self: str
    events: str
    transcript: str
    # A gateway from before timelines does not send it.
    timeline: Annotated[str, Field(json_schema_extra=lambda schema: schema.pop("default", None))] = ""
    messages: str
    cancel: str
    retry: str
    fork: str


class RunView(View):
    """A run."""

    id: str
    task: str
    version: str = Field(description="Of the application that the run began with.")
    status: Annotated[Status, OpenValues()]
    status_code: str | None = Field(description="How the root task ended.")
    session_id: str | None
    batch_id: str | None = Field(None, description="The batch that it is a run of.")
    forked_from: Annotated[ForkedFrom, AsGiven()] | None = Field(
        description="Of a fork: the other `run`, and the event `at` it."
    )
    model: str | None = Field(description="In the place of all its agents' models, where it is set.")
    message: dict[str, Any]
    priority: int
    tags: list[str]
    metadata: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    limits: LimitsView
    usage: RunUsageView
    waiting_for: Annotated[WaitingFor, AsGiven()] | None = Field(
        description="Of an unfinished run: the `kind` of what has to happen, what belongs to it, and a `sentence`."
    )
    stopped: StoppedView | None = Field(
        None, description="Of a run that a limit ended, also if its status is completed: that limit."
    )
    result: ResultView | None
    error: Annotated[ErrorDetail, AsGiven()] | None
    last_event: int
    links: LinksView
    webhook: RunWebhookView | None = Field(
        None, description="Of a run that was just submitted with one: its webhook with the secret."
    )


class GivenMessageView(View):
    """A message of a conversation that was held before the run, elsewhere."""

    role: str = Field(examples=["user"])
    content: str


class RunWithTree(RunView):
    """A run with the tasks that are open now; none before it began and after it ended."""

    tree: FrameView | None
    history: list[GivenMessageView] = Field([], description="What the run was given as said before its message.")


class RunOutlineView(View):
    """A run as an administrator sees it: what became of it and what it cost, and nothing that anyone wrote."""

    id: str
    task: str
    version: str
    status: Annotated[Status, OpenValues()]
    status_code: str | None
    priority: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    limits: LimitsView
    usage: RunUsageView
    waits_for: str | None = Field(description="The `kind` of what a run that waits is waiting for.")
    error_kind: str | None = Field(description="Of a run that failed, such as unavailable or timeout.")
    error_code: str | None


class Refusal(View):
    """A run that was left as it is, and why."""

    run: str
    code: str = Field(examples=["session_went_on"])
    detail: str


class BulkView(View):
    """A page of runs that matched a filter, and what became of them."""

    matched: int = Field(description="Runs of this page.")
    changed: int = Field(description="Those that were changed; of a dry run, none.")
    runs: list[str] = Field(description="The ids of all that matched, newest first.")
    refused: list[Refusal]
    created_before: datetime = Field(description="Send it with the next page, so that no newer run matches.")
    next_cursor: str | None
