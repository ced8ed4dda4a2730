"""Schedules and their ticks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnwise.api.open_values import OpenValues
from turnwise.api.view import View
from turnwise.schedules.policies import CatchUp, OverlapPolicy

TickState = Literal["submitted", "queued", "skipped", "missed", "refused"]


class TickView(View):
    """A tick of a schedule, and its result."""

    due_at: datetime
    at: datetime = Field(description="When it came.")
    outcome: Annotated[TickState, OpenValues()]
    run: str | None = Field(description="The id of its run; null: it has none.")
    ticks: int = Field(description="How many ticks this stands for: of those missed together, the last one is shown.")
    triggered_by: str | None = Field(description="Who triggered it by hand; null: the time did.")
    code: str | None = Field(description="Why it has no run, for programs.", examples=["too_many_runs"])
    reason: str | None = Field(description="The same for people.")


class ScheduleView(View):
    """A schedule. One of `cron`, `every` (seconds) and `at` is set."""

    id: str
    name: str
    task: str
    message: str
    cron: str | None = Field(examples=["0 3 * * MON-FRI"])
    every: float | None
    at: datetime | None
    timezone: str = Field(examples=["Europe/Berlin"])
    start_at: datetime | None
    end_at: datetime | None
    jitter: float = Field(description="Seconds by which a tick may be late, by chance.")
    catch_up: Annotated[CatchUp, OpenValues()]
    catch_up_limit: int
    overlap: Annotated[OverlapPolicy, OpenValues()]
    limits: dict[str, Any] = Field(description="Of each run, as in `POST /v1/runs`.")
    session_id: str | None
    version: str | None
    priority: int
    tags: list[str]
    metadata: dict[str, Any]
    state: Annotated[Literal["active", "paused", "finished"], OpenValues()]
    paused_at: datetime | None
    paused_by: str | None
    pause_note: str | None
    declared_by: str | None = Field(description="The version of the application whose code declares it; null: none.")
    next_ticks: list[datetime] = Field(description="When it is due next; none while it is paused.")
    last_tick: TickView | None
    created_at: datetime
    created_by: str
    updated_at: datetime
