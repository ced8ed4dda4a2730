"""The timeline of a run on record."""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.api.timeline import TimelineView
from turnwise.record.runs.event_times import RunTimes
from turnwise.record.values.records import EventRecord, RunRecord
from turnwise.timeline.from_events import TYPES, Reader
from turnwise.timeline.spans import Item
from turnwise.timeline.sums import Sums
from turnwise.timeline.views import timeline_view

_PAGE = 1_000


def timeline(record: RunTimes, run: RunRecord, *, after: int = -1, limit: int = 100) -> TimelineView:
    """All of the run's time, and the items with numbers above `after`, at most `limit`.

    The sums are of the whole run, so all its events that have times are read, but kept no longer than it takes to add
    them up.
    """
    since = 0 if run.forked_from is None else run.forked_from.at + 1
    held = run.waiting_for if run.started_at is None else None
    reader = Reader(record.now(), lambda ask: record.ask_of_run(run.id, ask), since, held)
    sums, page, more = Sums(), list[Item](), False
    for item in reader.items(_events(record, run.id)):
        sums.add(item)
        if item.no > after:
            more = len(page) == limit or more
            if not more:
                page.append(item)
    following = page[-1].no if more and page else None
    return timeline_view(run.id, run.task, run.status, sums, page, ended=reader.ended, next_after=following)


def _events(record: RunTimes, run_id: str) -> Iterator[EventRecord]:
    after = 0
    while found := record.events_of(run_id, TYPES, after, _PAGE):
        yield from found
        after = found[-1].seq
