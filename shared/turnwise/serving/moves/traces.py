"""The machine's trace of a move as events of the record."""

from __future__ import annotations

from typing import assert_never

from turnwise.base.waits import PauseWait, SessionWait
from turnwise.machine.actions import Trace
from turnwise.record.events.event import EventData
from turnwise.record.events.run_events import TaskFinished, TaskStarted, TurnNone, TurnRejected, TurnTaken


def traced(item: Trace, waited_for: SessionWait | PauseWait | None) -> EventData:
    """Return the data of the event of an item; `waited_for` tells why the run could not begin at once."""
    document = item.document.metadata.id if item.document is not None else None
    responder = item.responder or None
    match item.kind:
        case "taken" | "passed" | "null":
            passed, null = item.kind == "passed", item.kind == "null"
            return TurnTaken(document=document, responder=responder, passed=passed, null=null)
        case "started":
            return TaskStarted(document=document, waited_for=waited_for, responder=responder)
        case "finished":
            status = item.status.value if item.status is not None else None
            return TaskFinished(document=document, status=status)
        case "rejected":
            return TurnRejected(document=document, responder=responder)
        case "none":
            return TurnNone(document=document, responder=responder)
        case unknown:
            assert_never(unknown)
