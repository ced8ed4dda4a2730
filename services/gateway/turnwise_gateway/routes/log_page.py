"""The log of a run as one HTML page, to read in a browser or to keep as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from turnwise.record.roles.tenant import TenantRole
from turnwise.record.values.records import RunRecord
from turnwise.timeline.run_timeline import timeline
from turnwise.transcripts.entry import RunTitle
from turnwise.transcripts.from_events import EventReader
from turnwise.transcripts.page.assets import POLICY
from turnwise.transcripts.page.html import TranscriptPage
from turnwise.transcripts.page.timeline import MOST_ITEMS, timeline_section
from turnwise_gateway.access.scopes import READS
from turnwise_gateway.gateway import Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import ExistingRun
from turnwise_gateway.views import event_view

router = api_router("runs", "/v1/runs/{run_id}")

_PAGE = 200
# The page has an origin of its own: should its texts ever run as a script, it could ask nothing of this server.
_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'; sandbox allow-scripts",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LogPage(StreamingResponse):
    """A page of HTML."""

    media_type = "text/html"


@router.get("/log", response_class=LogPage, dependencies=[READS], responses=problems(404, 422, 503))
def log_page(
    run: ExistingRun,
    gateway: Here,
    download: Annotated[bool, Query(description="As a file to be kept.")] = False,
) -> LogPage:
    """Return the messages so far as a page that loads nothing, as `turnwise show --html` writes it."""
    section = timeline_section(timeline(gateway.record, run, limit=MOST_ITEMS))
    disposition = f'{"attachment" if download else "inline"}; filename="{run.id}.html"'
    return LogPage(_pieces(gateway.record, run, section), headers=_HEADERS | {"Content-Disposition": disposition})


def _pieces(record: TenantRole, run: RunRecord, section: str) -> Iterator[str]:
    """The page up to the last event that the run has now, a page of events at a time."""
    page, reader, after = TranscriptPage(section), EventReader(), 0
    yield page.head(RunTitle(task=run.task, run=run.id, state="" if run.ended else run.status))
    while after < run.last_seq and (found := record.events(run.id, after, min(_PAGE, run.last_seq - after))):
        after = found[-1].seq
        entries = (
            entry
            for event in found
            for entry in reader.entries(event_view(event).model_dump(mode="json", by_alias=True, exclude_none=True))
        )
        yield "".join(page.part(entry) for entry in entries)
    yield page.tail()
