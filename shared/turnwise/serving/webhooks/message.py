"""The body of a delivery: what happened, and enough of the run to act on it."""

from __future__ import annotations

import json
from typing import Any

from turnwise.base.money import decimal_string
from turnwise.base.times import rfc3339
from turnwise.record.values.records import EventRecord, Json, RunRecord
from turnwise.record.webhooks.records import Parcel

# Characters of JSON. A receiver reads the rest over HTTP.
_MOST_OF_A_MESSAGE = 64_000
_MOST_OF_METADATA = 16_000
_CUT = 16_000
_ENDS = ("run.completed", "run.failed", "run.cancelled")


def body_of(parcel: Parcel) -> str:
    """The body in JSON, `{type, timestamp, data}`; it is kept, so that every attempt sends the same."""
    delivery, event, run = parcel.delivery, parcel.event, parcel.run
    if run is None or event is None:
        data: Json = {"webhook": delivery.webhook_id, "message": "This is a test. It tells of no event."}
    else:
        data = _of_run(run) | _of_event(event)
        if event.type in _ENDS:
            data |= _of_end(run, event)
    return json.dumps({"type": delivery.type, "timestamp": rfc3339(delivery.created_at), "data": data})


def _of_run(run: RunRecord) -> Json:
    found: Json = {
        "run": run.id,
        "task": run.task,
        "session_id": run.session_id,
        "tags": list(run.tags),
        "metadata": run.metadata,
        "forked_from": None if run.forked_from is None else run.forked_from.as_json(),
    }
    if len(json.dumps(run.metadata)) > _MOST_OF_METADATA:
        found["metadata"] = None
    return found


def _of_event(event: EventRecord) -> Json:
    details = {name: value for name, value in (event.data or {}).items() if name != "document"}
    found: Json = {"seq": event.seq, "path": event.path, "ask": event.ask_id, "details": details}
    return found | ({} if event.document is None else {"message": _message(event.document)})


def _of_end(run: RunRecord, event: EventRecord) -> Json:
    return {
        "status": event.type.removeprefix("run."),
        "status_code": (event.data or {}).get("status"),
        "error": (event.data or {}).get("error"),
        "usage": {
            "prompt_tokens": run.prompt_tokens,
            "cached_tokens": run.cached_tokens,
            "completion_tokens": run.completion_tokens,
            "calls": run.calls,
            "unpriced_calls": run.unpriced_calls,
            "cost": decimal_string(run.cost),
        },
    }


def _message(document: Json) -> Json:
    content: Any = document.get("content", "")
    found: Json = {"content": content, "tools": document.get("tool_messages", []), "truncated": False}
    if len(json.dumps(found)) > _MOST_OF_A_MESSAGE:
        return {"content": str(content)[:_CUT], "tools": [], "truncated": True}
    return found
