"""The results of clients, as tests look at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from turnwise.api.events import EventView, StreamItem
from turnwise.api.inbox import InboxItem, ParkedView
from turnwise.api.runs import RunWithTree

T = TypeVar("T")


def present(value: T | None) -> T:
    """Return a value that has to be there."""
    assert value is not None
    return value


def numbered(events: Iterable[StreamItem]) -> Iterator[EventView]:
    """Return the events, without the pieces of text between them."""
    return (event for event in events if isinstance(event, EventView))


def parked_asks(items: Iterable[InboxItem]) -> list[ParkedView]:
    """Return the parked asks of an inbox, which has nothing else."""
    found = list(items)
    asks = [item for item in found if isinstance(item, ParkedView)]
    assert len(asks) == len(found)
    return asks


def run_json(**changes: Any) -> dict[str, Any]:
    """Return a run as the gateway sends it."""
    here = "/v1/runs/run_1"
    no_limits = dict.fromkeys(("max_cost", "max_tokens", "turns", "deadline", "on_limit", "can_wait"))
    usage = dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens", "calls", "unpriced_calls"), 0)
    below = ("events", "transcript", "timeline", "messages", "cancel", "retry", "fork")
    times = dict.fromkeys(("started_at", "finished_at", "cancel_requested_at"))
    nothing = dict.fromkeys(
        ("status_code", "session_id", "forked_from", "model", "waiting_for", "stopped", "result", "error", "tree")
    )
    return {
        "id": "run_1",
        "task": "desk",
        "version": "1",
        "status": "running",
        "message": {"content": "hello"},
        "priority": 0,
        "tags": [],
        "metadata": {},
        "created_at": "2026-11-23T00:20:15Z",
        **times,
        "limits": no_limits,
        "usage": {**usage, "cost": "0", "reserved_cost": "0", "reserved_tokens": 0},
        **nothing,
        "last_event": 1,
        "links": {"self": here, **{name: f"{here}/{name}" for name in below}},
        **changes,
    }


def run_view(**changes: Any) -> RunWithTree:
    """Return a run as a client returns it."""
    return RunWithTree.model_validate(run_json(**changes))
