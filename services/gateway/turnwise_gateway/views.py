"""What clients get: the record in the words of the API.

Times are RFC 3339 in UTC, money is a decimal string, durations are seconds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

from turnwise.record.runs.records import EventRecord, Frame, Json, RunRecord
from turnwise.record.runs.wait_facts import Situation
from turnwise.serving.stop_reason import stop_reason
from turnwise.serving.wait_reason import why_waiting
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.root_path import public

T = TypeVar("T")
Status = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]


class Page(BaseModel, Generic[T]):
    """A part of a list; `next_cursor` gets the next one and is null at the end."""

    items: list[T]
    next_cursor: str | None = None


class LimitsView(BaseModel):
    """Where the run ends at the latest."""

    max_cost: str | None
    max_tokens: int | None
    turns: int | None
    deadline: float | None = Field(description="Seconds from the acceptance.")
    on_limit: str | None = Field(description="end or wait; null: as the server is set.")


class UsageView(BaseModel):
    """What the run used so far; `cost` leaves out the `unpriced_calls`."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    unpriced_calls: int
    cost: str


class RunUsageView(UsageView):
    """What a run used so far, and what is put aside for its calls under way."""

    reserved_cost: str = Field(description="US dollars.")
    reserved_tokens: int


class ResultView(BaseModel):
    """What came out: the text, and the tools, each a JSON object with its name as `$tool`."""

    content: str
    tools: list[dict[str, Any]]
    status: str | None
    document: dict[str, Any]


class StoppedView(BaseModel):
    """The limit that ended a run: nobody knows whether its work is done."""

    limit: Literal["cost", "tokens", "turns", "max_turns", "time", "stalled_steps"]
    scope: str = Field(description="Whose limit it is: run, session, tenant_day or tenant_month.")
    value: str | float | None = Field(description="Of cost a decimal string; a number of tokens, turns or seconds.")
    used: str | float | None = Field(description="Of it, for cost and tokens.")
    why: str | None = Field(description="Why a call was refused, for instance because its model has no known price.")
    message: str = Field(description="All of it in one line.", examples=["stopped: cost limit $0.05, $0.0312 used"])


class FrameView(BaseModel):
    """A task that is being worked on, and the tasks that it called."""

    task: str = Field(description="Path of the task.", examples=["triage/billing"])
    children: list[FrameView] = []


class LinksView(BaseModel):
    """Where to go on."""

    self: str
    events: str
    transcript: str
    timeline: str
    messages: str
    cancel: str
    retry: str
    fork: str


class RunView(BaseModel):
    """A run."""

    id: str
    task: str
    version: str = Field(description="Of the application that the run began with.")
    status: Status
    status_code: str | None = Field(description="How the root task ended.")
    session_id: str | None
    forked_from: dict[str, Any] | None = Field(description="Of a fork: the other `run`, and the event `at` it.")
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
    waiting_for: dict[str, Any] | None = Field(
        description="Of an unfinished run: the `kind` of what has to happen, what belongs to it, and a `sentence`."
    )
    stopped: StoppedView | None = Field(
        None, description="Of a run that a limit ended, also if its status is completed: that limit."
    )
    result: ResultView | None
    error: dict[str, Any] | None
    last_event: int
    links: LinksView


class RunWithTree(RunView):
    """A run with the tasks that are open now; none before it began and after it ended."""

    tree: FrameView | None


class EventView(BaseModel):
    """Something that happened in a run; `seq` counts without gaps."""

    seq: int
    type: str
    at: datetime
    run: str
    task: str | None = None
    turn: int | None = None
    try_: int | None = Field(None, serialization_alias="try")
    ask: str | None = None
    data: dict[str, Any] | None = None


def when(at: float) -> datetime:
    """Seconds since the epoch as a time."""
    return datetime.fromtimestamp(at, UTC)


def _maybe(at: float | None) -> datetime | None:
    return None if at is None else when(at)


def money(amount: Decimal) -> str:
    """US dollars without an exponent."""
    return format(amount, "f")


def run_view(now: Situation) -> RunView:
    """A run as the API shows it in lists."""
    return RunView.model_validate(_fields(now))


def run_with_tree(now: Situation, frames: list[Frame]) -> RunWithTree:
    """A run as the API shows it alone."""
    return RunWithTree.model_validate(_fields(now) | {"tree": _tree(frames)})


def fresh(run: RunRecord) -> Situation:
    """The situation of a run of which nothing is known but its row."""
    return Situation(run=run, now=run.created_at)


def _fields(now: Situation) -> Json:
    run = now.run
    here = public(f"/v1/runs/{run.id}")
    return {
        "id": run.id,
        "task": run.task,
        "version": run.version,
        "status": run.status,
        "status_code": run.status_code,
        "session_id": run.session_id,
        "forked_from": run.forked_from,
        "model": run.model,
        "message": readable(run.message),
        "priority": run.priority,
        "tags": run.tags,
        "metadata": readable(run.metadata),
        "created_at": when(run.created_at),
        "started_at": _maybe(run.started_at),
        "finished_at": _maybe(run.finished_at),
        "cancel_requested_at": _maybe(run.cancel_requested_at),
        "limits": _limits(run),
        "usage": _usage(run),
        "waiting_for": _waiting_for(now),
        "stopped": stopped.as_json() if (stopped := stop_reason(now)) is not None else None,
        "result": _result(run),
        "error": None if run.error is None else readable(run.error),
        "last_event": run.last_seq,
        "links": LinksView(
            self=here,
            events=f"{here}/events",
            transcript=f"{here}/transcript",
            timeline=f"{here}/timeline",
            messages=f"{here}/messages",
            cancel=f"{here}/cancel",
            retry=f"{here}/retry",
            fork=f"{here}/fork",
        ),
    }


def _waiting_for(now: Situation) -> Json | None:
    why = why_waiting(now)
    if why is None:
        return None
    times = {name: rfc3339(why[name]) for name in ("since", "due_at") if why.get(name) is not None}
    return readable(why | times)


def rfc3339(at: float) -> str:
    """Seconds since the epoch as text."""
    return when(at).isoformat().replace("+00:00", "Z")


def _limits(run: RunRecord) -> LimitsView:
    return LimitsView(
        max_cost=None if run.max_cost is None else money(run.max_cost),
        max_tokens=run.max_tokens,
        turns=run.turns,
        deadline=None if run.deadline_at is None else round(run.deadline_at - run.created_at, 3),
        on_limit=run.on_limit,
    )


def _usage(run: RunRecord) -> RunUsageView:
    return RunUsageView(
        prompt_tokens=run.prompt_tokens,
        cached_tokens=run.cached_tokens,
        completion_tokens=run.completion_tokens,
        calls=run.calls,
        unpriced_calls=run.unpriced_calls,
        cost=money(run.cost),
        reserved_cost=money(run.reserved_cost),
        reserved_tokens=run.reserved_tokens,
    )


def _result(run: RunRecord) -> ResultView | None:
    if run.result is None:
        return None
    document = readable(run.result)
    return ResultView(
        content=document.get("content", ""),
        tools=document.get("tool_messages", []),
        status=run.status_code,
        document=document,
    )


def _tree(frames: list[Frame]) -> FrameView | None:
    # A stack: each open task was called by the one before it.
    inner: FrameView | None = None
    for frame in reversed(frames):
        inner = FrameView(task=frame.path, children=[] if inner is None else [inner])
    return inner


def event_view(event: EventRecord) -> EventView:
    """An event with the document that it names: `data.document_id` and `data.document`."""
    data = event.data
    if data and "document" in data:
        data = {**data, "document_id": data["document"], "document": event.document}
    data = data and readable(data)
    return EventView(
        seq=event.seq,
        type=event.type,
        at=when(event.at),
        run=event.run_id,
        task=event.path,
        turn=event.turn,
        try_=event.try_no,
        ask=event.ask_id,
        data=data,
    )
