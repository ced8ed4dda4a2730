"""The responses about schedules: the record in the words of the API."""

from __future__ import annotations

from turnwise.api.schedules import ScheduleView, TickView
from turnwise.base.times import when, when_known
from turnwise.record.schedules.schedule import ScheduleRecord, TickRecord


def schedule_view(found: ScheduleRecord, last: TickRecord | None, ahead: int = 5) -> ScheduleView:
    """A schedule with its last tick and the next `ahead` ones."""
    run = found.run
    same = ("id", "name", "task", "cron", "every", "timezone", "jitter", "catch_up", "catch_up_limit", "overlap")
    times = ("at", "start_at", "end_at", "paused_at", "created_at", "updated_at")
    return ScheduleView.model_validate(
        {
            **{name: getattr(found, name) for name in (*same, "paused_by", "pause_note", "created_by")},
            **{name: when_known(getattr(found, name)) for name in times},
            **{name: run.get(name) for name in ("message", "session_id", "version")},
            "limits": run.get("limits", {}),
            "priority": run.get("priority", 0),
            "tags": run.get("tags", []),
            "metadata": run.get("metadata", {}),
            "state": "paused" if found.paused_at is not None else "finished" if found.due_at is None else "active",
            "declared_by": found.version,
            "next_ticks": [when(due) for due in _next(found, ahead)],
            "last_tick": None if last is None else tick_view(last),
        }
    )


def _next(found: ScheduleRecord, ahead: int) -> list[float]:
    """When the next ticks are due, the first one also where it is late."""
    if found.due_at is None or found.paused_at is not None or not ahead:
        return []
    return [found.due_at, *found.timing.first_after(found.due_at, ahead - 1)]


def tick_view(tick: TickRecord) -> TickView:
    """A tick."""
    names = ("outcome", "ticks", "triggered_by", "code", "reason")
    return TickView(
        **{name: getattr(tick, name) for name in names}, due_at=when(tick.due_at), at=when(tick.at), run=tick.run_id
    )
