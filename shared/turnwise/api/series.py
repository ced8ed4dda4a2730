"""The work of a tenant, or of the installation, over time."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from turnwise.api.view import View


class SeriesPoint(View):
    """The samples of one step: what was done in it, and the highest that each gauge had."""

    at: datetime = Field(description="When the step begins.")
    seconds: float = Field(description="The time that its samples cover: divide by it for a rate.")
    turns: int = Field(description="Answers that were taken.")
    deferrals: int = Field(description="Asks that were postponed: for a retry, an outage, a limit or a budget.")
    ended: int = Field(description="Runs that ended.")
    failed: int = Field(description="Runs that ended as failed; they count as ended, too.")
    calls: int = Field(description="Calls of models.")
    unpriced_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: str = Field(description="US dollars; without the unpriced calls.")
    queued: int = Field(description="Runs that have not begun.")
    running: int
    waiting: int = Field(description="Runs that wait for a human, a limit or a time.")
    asking: int = Field(description="Questions and parked calls that wait for a human.")
    backlog: int = Field(description="Asks that a worker, and moves that a coordinator may take up.")
    in_flight: int = Field(description="Asks that a worker is at: calls of models and of tools.")


class SeriesView(View):
    """The points from `since` to before `until`; steps without a sample are left out."""

    tenant: str | None = Field(description="null: all tenants together.")
    since: datetime
    until: datetime
    step: int = Field(description="Seconds.")
    points: list[SeriesPoint]
