"""The conversation of a run: its ChatDocuments, nested by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnwise.api.transcript import MessageItem, TaskItem, TranscriptView
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.records import EventRecord, RunRecord
from turnwise_gateway.http.readable_json import readable

_PAGE = 500


def transcript(record: TenantRole, run: RunRecord) -> TranscriptView:
    """Put the run's documents together from its events."""
    stack: list[TaskItem] = []
    root: TaskItem | None = None
    for event in _without_undone(_events(record, run.id)):
        if event.type == "task.started":
            task = TaskItem(task=event.path or run.task)
            if stack:
                stack[-1].items.append(task)
            root = root or task
            stack.append(task)
        if not stack:
            continue
        if event.document is not None and event.type in ("task.started", "turn.taken"):
            stack[-1].items.append(MessageItem(turn=event.turn or 0, document=readable(event.document)))
        elif event.type == "task.finished":
            done = stack.pop()
            done.status = (event.data or {}).get("status")
            done.result = None if event.document is None else readable(event.document)
    return TranscriptView(run=run.id, status=run.status, root=root)


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


def _events(record: TenantRole, run_id: str) -> Iterator[EventRecord]:
    after = 0
    while found := record.events(run_id, after, _PAGE):
        yield from found
        after = found[-1].seq
