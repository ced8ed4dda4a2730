"""The responses to clients: the record in the words of the API.

Times are RFC 3339 in UTC, money is a decimal string, durations are seconds.
"""

from __future__ import annotations

from typing import cast

from turnwise.api.details import EventDetail
from turnwise.api.events import EventView
from turnwise.api.runs import (
    FrameView,
    LimitsView,
    LinksView,
    ResultView,
    RunOutlineView,
    RunUsageView,
    RunView,
    RunWithTree,
)
from turnwise.base.money import decimal_string
from turnwise.base.times import rfc3339, when, when_known
from turnwise.messages.given_history import history_of, without_history
from turnwise.record.runs.outlines import RunOutline
from turnwise.record.runs.wait_facts import Situation
from turnwise.record.values.records import EventRecord, FrameRecord, Json, RunRecord
from turnwise.serving.stop_reason import stop_reason
from turnwise.serving.wait_reason import why_waiting
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.root_path import public


def run_view(now: Situation) -> RunView:
    """A run as the API shows it in lists."""
    return RunView.model_validate(_fields(now))


def run_with_tree(now: Situation, frames: list[FrameRecord]) -> RunWithTree:
    """A run as the API shows it alone."""
    return RunWithTree.model_validate(_fields(now) | {"tree": _tree(frames), "history": _history(now.run)})


def _history(run: RunRecord) -> list[Json]:
    return [readable(message._asdict()) for message in history_of(run.message)]


def outline_view(run: RunOutline) -> RunOutlineView:
    """A run without its contents."""
    names = ("id", "task", "version", "status", "status_code", "priority", "waits_for", "error_kind", "error_code")
    return RunOutlineView(
        **{name: getattr(run, name) for name in names},
        created_at=when(run.created_at),
        started_at=when_known(run.started_at),
        finished_at=when_known(run.finished_at),
        cancel_requested_at=when_known(run.cancel_requested_at),
        limits=_limits(run),
        usage=_usage(run),
    )


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
        "batch_id": run.batch_id,
        "forked_from": None if run.forked_from is None else run.forked_from.as_json(),
        "model": run.model,
        "message": readable(without_history(run.message)),
        "priority": run.priority,
        "tags": run.tags,
        "metadata": readable(run.metadata),
        "created_at": when(run.created_at),
        "started_at": when_known(run.started_at),
        "finished_at": when_known(run.finished_at),
        "cancel_requested_at": when_known(run.cancel_requested_at),
        "limits": _limits(run),
        "usage": _usage(run),
        "waiting_for": _waiting_for(now),
        "stopped": stopped.as_json() if (stopped := stop_reason(now)) is not None else None,
        "result": result_view(run),
        "error": None if run.error is None else readable(run.error.as_json()),
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
    found = why.as_json()
    times = {name: rfc3339(found[name]) for name in ("since", "due_at", "submitted_at") if found.get(name) is not None}
    return readable(found | times)


def _limits(run: RunRecord | RunOutline) -> LimitsView:
    return LimitsView(
        max_cost=decimal_string(run.max_cost),
        max_tokens=run.max_tokens,
        turns=run.turns,
        deadline=None if run.deadline_at is None else round(run.deadline_at - run.created_at, 3),
        on_limit=run.on_limit,
        can_wait=run.can_wait,
    )


def _usage(run: RunRecord | RunOutline) -> RunUsageView:
    return RunUsageView(
        prompt_tokens=run.prompt_tokens,
        cached_tokens=run.cached_tokens,
        completion_tokens=run.completion_tokens,
        calls=run.calls,
        unpriced_calls=run.unpriced_calls,
        cost=decimal_string(run.cost),
        reserved_cost=decimal_string(run.reserved_cost),
        reserved_tokens=run.reserved_tokens,
    )


def result_view(run: RunRecord) -> ResultView | None:
    """The result of a run, None without one."""
    if run.result is None:
        return None
    document = readable(run.result)
    return ResultView(
        content=document.get("content", ""),
        tools=document.get("tool_messages", []),
        status=run.status_code,
        document=document,
    )


def text_of_result(run: RunRecord) -> str:
    """Return a run's result for a program that takes texts alone, "" without one."""
    result = result_view(run)
    return "" if result is None else result.text


def _tree(frames: list[FrameRecord]) -> FrameView | None:
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
        candidate=event.candidate,
        ask=event.ask_id,
        data=cast("EventDetail | None", data),
    )
