"""A run's events as they happen, and the conversation as a whole."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from turnwise.api.events import EventPage
from turnwise.api.transcript import TranscriptView
from turnwise.bus.envelope import TokenNotice
from turnwise.errors import EnvironmentFault, InvalidRequestError
from turnwise.record.runs.queries import FoundEvents
from turnwise.record.tenants.caller import RUNS_READ
from turnwise_gateway.access.open_requests import Admitted
from turnwise_gateway.access.scopes import READS
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import ExistingRun
from turnwise_gateway.transcript_views import transcript
from turnwise_gateway.views import event_view
from turnwise_gateway.watching.answer_pieces import AnswerPieces

logger = logging.getLogger(__name__)

router = api_router("runs", "/v1/runs/{run_id}")

_LAST = ("run.completed", "run.failed", "run.cancelled")
_PAGE = 200
_NOTHING = FoundEvents((), more=False)
_NUMBER = {"ge": 0, "lt": 2**31}


async def _admitted(
    run: ExistingRun,
    gateway: Here,
    request: Request,
    text: Annotated[bool, Query(description="Stream also models whose settings leave that open.")] = False,
) -> AsyncIterator[Admitted]:
    """A watcher of the run for as long as the response lasts, for `Depends`.

    A client may leave before the first event is sent, and then no one closes the generator of the events.
    """
    with (
        gateway.watch.of(run.id, text=True, eager=text) as watcher,
        gateway.admission.of(request, watcher, RUNS_READ) as admitted,
    ):
        yield admitted


@router.get("/events", response_class=EventSourceResponse, dependencies=[READS], responses=problems(404, 422, 503))
async def watch_events(
    run: ExistingRun,
    gateway: Here,
    admitted: Annotated[Admitted, Depends(_admitted)],
    last_event_id: Annotated[int | None, Header(**_NUMBER, description="Goes on after this event.")] = None,
    after: Annotated[int, Query(**_NUMBER, description="The same, for a first connection.")] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `id` is the event's number, `event` its type; closes after the run's last event. A run that
    is retried continues behind that: a new stream has the rest.

    The stream also ends within 5 s once the key or token that it was asked for with no longer allows it.

    `llm.delta` shows an answer while it is written. It has no number, is never sent twice or after the
    `turn.replied` of its ask, and may be lost. Models send it whose settings say that they stream; with `text`, also
    those whose settings leave that open.
    """
    async for event in _events(gateway, run.id, after if last_event_id is None else last_event_id, admitted):
        if admitted.ended:
            return
        yield event


async def _events(gateway: Gateway, run_id: str, seq: int, admitted: Admitted) -> AsyncIterator[ServerSentEvent]:
    watcher, pieces = admitted.watcher, AnswerPieces()
    while not gateway.watch.stopping and not admitted.ended:
        # The watcher was there before this look, so whatever it does not see will wake it.
        pieces.told(watcher.take_deltas())
        looks = watcher.must_look(gateway.watch.poll_seconds)
        found, over = await run_in_threadpool(_looked, gateway, run_id, seq) if looks else (_NOTHING, False)
        if found:
            pieces.told_late(watcher.take_deltas())
        for event in found:
            seq = event.seq
            for piece in pieces.before(event.type, event.ask_id):
                yield _delta(piece)
            # Written here: as `data` it would be copied, value by value, before it is.
            text = event_view(event).model_dump_json(by_alias=True, exclude_none=True)
            yield ServerSentEvent(raw_data=text, event=event.type, id=str(seq))
        if over:
            return
        if found.more:
            watcher.look_again()
            continue
        for piece in pieces.rest():
            yield _delta(piece)
        await watcher.wait(gateway.watch.poll_seconds)


def _looked(gateway: Gateway, run_id: str, seq: int) -> tuple[FoundEvents, bool]:
    """Look at the record; what failed to be read is read again, as long as the stream lasts."""
    try:
        return _look(gateway, run_id, seq)
    except EnvironmentFault as error:
        extra = {"action": "events_not_read", "run": run_id}
        logger.warning("The events of a run are looked for again: %s", error, extra=extra)
        return _NOTHING, False


def _look(gateway: Gateway, run_id: str, seq: int) -> tuple[FoundEvents, bool]:
    """The events after `seq`, at most a page, and whether no event behind them will ever come."""
    found = gateway.record.events(run_id, seq, _PAGE)
    if found and found[-1].type not in _LAST:
        return found, False
    # A run that was retried has events behind the one that was its last.
    run = gateway.record.run(run_id)
    return found, run.ended and run.last_seq <= (found[-1].seq if found else seq)


def _delta(notice: TokenNotice) -> ServerSentEvent:
    return ServerSentEvent(data={"type": notice.kind, **notice.model_dump(exclude={"v", "kind"})}, event=notice.kind)


@router.get("/history", dependencies=[READS], responses=problems(404, 422, 503), response_model_exclude_none=True)
def show_events(
    run: ExistingRun,
    gateway: Here,
    after: Annotated[int | None, Query(**_NUMBER, description="The next ones after this event.")] = None,
    before: Annotated[int | None, Query(**_NUMBER, description="The last ones before this event.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> EventPage:
    """A page of the run's events, in order: the newest ones, unless it is said after or before which event.

    It has fewer events than `limit` where they are large, but at least one while there is one.
    This does not wait for events that are still to come: `events` does.
    """
    if after is not None and before is not None:
        raise InvalidRequestError("found both after and before; give one of them, or none for the newest events")
    if after is not None:
        found = gateway.record.events(run.id, after, limit)
    else:
        found = gateway.record.events(run.id, limit=limit, before=run.last_seq + 1 if before is None else before)
    last = max([run.last_seq, *(event.seq for event in found[-1:])])
    return EventPage(run=run.id, items=[event_view(event) for event in found], last_event=last)


@router.get("/transcript", dependencies=[READS], responses=problems(404, 422, 503))
def show_transcript(
    run: ExistingRun,
    gateway: Here,
    rejected: Annotated[bool, Query(description="Also the messages that were no valid answers.")] = False,
) -> TranscriptView:
    """The messages that were taken, in order, each task's within that of its caller, and what the tasks have used."""
    return transcript(gateway.record, run, rejected=rejected)
