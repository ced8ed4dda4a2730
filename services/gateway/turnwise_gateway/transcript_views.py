"""The conversation of a run: its ChatDocuments, nested by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from turnwise.api.transcript import MessageItem, TaskItem, TaskUsage, TranscriptView
from turnwise.base.money import decimal_string
from turnwise.base.times import when
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.values.records import EventRecord, Json, RunRecord
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.views import event_view

_PAGE = 500
# The events that a transcript is made of.
_NOTES = ("run.forked", "run.retried", "limits.changed", "limit.reached", "ask.parked", "ask.resolved")
_TYPES = (*_NOTES, "task.started", "turn.taken", "task.finished", "usage.settled")
_MESSAGES = ("task.started", "turn.taken", "turn.rejected")


def transcript(record: TenantRole, run: RunRecord, *, rejected: bool = False) -> TranscriptView:
    """Put the run's documents together from its events."""
    types = (*_TYPES, "turn.rejected") if rejected else _TYPES
    found = list(_events(record, run.id, types))
    stack: list[TaskItem] = []
    root: TaskItem | None = None
    # The model that was called last, by the task's path.
    models: dict[str, str | None] = {}
    kept = _without_undone(found)
    for event in kept:
        if event.type == "task.started":
            task = TaskItem(task=event.path or run.task, event=event.seq, at=when(event.at))
            if stack:
                stack[-1].items.append(task)
            root = root or task
            stack.append(task)
        if not stack:
            continue
        if event.document is not None and event.type in _MESSAGES:
            stack[-1].items.append(_message(event, event.document, models.get(stack[-1].task)))
        elif event.type == "task.finished":
            done = stack.pop()
            done.status = (event.data or {}).get("status")
            done.ended_event, done.ended_at = event.seq, when(event.at)
            done.result = None if event.document is None else readable(event.document)
        elif event.type == "usage.settled":
            models[event.path or ""] = (event.data or {}).get("model")
            _add_cost(stack, event)
    last = found[-1].seq if found else 0
    notes = [event_view(event) for event in kept if event.type in _NOTES]
    return TranscriptView(run=run.id, status=run.status, root=root, last_event=last, usage=_usage(found), notes=notes)


def _message(event: EventRecord, document: Json, model: str | None) -> MessageItem:
    responder = (event.data or {}).get("responder")
    return MessageItem(
        turn=event.turn or 0,
        document=readable(document),
        event=event.seq,
        at=when(event.at),
        responder=responder,
        model=model if responder == "LLM" else None,
        rejected=event.type == "turn.rejected",
    )


def _add_cost(stack: list[TaskItem], event: EventRecord) -> None:
    """Add to the innermost open task of that path: a late report of a call may come when a sub-task is open."""
    data = event.data or {}
    for task in reversed(stack):
        if task.task == event.path:
            before = (data.get("corrects") or {}).get("cost") or 0
            task.cost = decimal_string(Decimal(task.cost) + Decimal(data.get("cost") or 0) - Decimal(before))
            return


def _usage(events: Iterable[EventRecord]) -> list[TaskUsage]:
    """The sums by task and model. What a retry has taken back was paid; what is older than a fork, the other paid."""
    sums: dict[tuple[str, str | None], Json] = {}
    for event in events:
        data = event.data or {}
        if event.type == "run.forked":
            sums.clear()
        if event.type != "usage.settled":
            continue
        of = sums.setdefault((event.path or "", data.get("model")), {"unpriced_calls": 0, "cost": Decimal(0)})
        corrected = data.get("corrects") or {}
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "calls"):
            of[name] = of.get(name, 0) + (data.get(name) or 0) - (corrected.get(name) or 0)
        of["cost"] += Decimal(data.get("cost") or 0) - Decimal(corrected.get("cost") or 0)
        of["unpriced_calls"] += data.get("calls") or 0 if data.get("cost") is None else 0
    return [
        TaskUsage(task=task, model=model, **{**of, "cost": decimal_string(of["cost"])})
        for (task, model), of in sums.items()
    ]


def _without_undone(events: Iterable[EventRecord]) -> list[EventRecord]:
    """The events, without those that a retry has taken back."""
    kept: list[EventRecord] = []
    for event in events:
        if event.type == "run.retried":
            to = (event.data or {})["to"]
            while kept and kept[-1].seq > to:
                kept.pop()
        kept.append(event)
    return kept


def _events(record: TenantRole, run_id: str, types: tuple[str, ...]) -> Iterator[EventRecord]:
    after = 0
    while found := record.events(run_id, after, _PAGE, types=types):
        yield from found
        after = found[-1].seq
