"""Schedules. See the page about schedules for what their settings mean."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from turnwise.api.pages import Page
from turnwise.api.runs import RunView
from turnwise.api.schedules import ScheduleView, TickState, TickView
from turnwise.base.json_value import given
from turnwise.client.request import Amount, Json, Request, limits_of, model, moment, path_of
from turnwise.schedules.policies import CatchUp, OverlapPolicy


def create_schedule(
    name: str,
    task: str,
    message: str,
    *,
    cron: str | None = None,
    every: float | timedelta | None = None,
    at: datetime | str | None = None,
    timezone: str | None = None,
    start_at: datetime | str | None = None,
    end_at: datetime | str | None = None,
    jitter: float | None = None,
    catch_up: CatchUp | None = None,
    catch_up_limit: int | None = None,
    overlap: OverlapPolicy | None = None,
    session_id: str | None = None,
    version: str | None = None,
    priority: int | None = None,
    tags: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    deadline: float | None = None,
    on_limit: Literal["end", "wait"] | None = None,
    can_wait: float | None = None,
    idempotency_key: str | None = None,
) -> Request[ScheduleView]:
    """Submit `message` to a task on a schedule: a line of `cron`, `every` so often, or once, `at`.

    Times without an offset are those of the wall clock in `timezone`; lengths are seconds. With `can_wait`, calls of
    models may wait so long for a batch of their provider.
    """
    body = _body(
        name=name,
        task=task,
        message=message,
        cron=cron,
        every=every,
        at=at,
        timezone=timezone,
        start_at=start_at,
        end_at=end_at,
        jitter=jitter,
        catch_up=catch_up,
        catch_up_limit=catch_up_limit,
        overlap=overlap,
        session_id=session_id,
        version=version,
        priority=priority,
        tags=tags,
        metadata=metadata,
        max_cost=max_cost,
        max_tokens=max_tokens,
        turns=turns,
        deadline=deadline,
        on_limit=on_limit,
        can_wait=can_wait,
    )
    return Request(
        method="POST",
        path=path_of("schedules"),
        read=model(ScheduleView),
        body=body,
        idempotency_key=idempotency_key,
    )


def schedules(*, cursor: str | None = None, limit: int = 100, ahead: int = 3) -> Request[Page[ScheduleView]]:
    """Return a page of schedules by name, each with its last tick and the next `ahead` ones."""
    params = {**given(cursor=cursor, limit=limit), "next": ahead}
    return Request(method="GET", path=path_of("schedules"), read=model(Page[ScheduleView]), params=params)


def schedule(schedule: str, *, ahead: int = 5) -> Request[ScheduleView]:
    """Return a schedule, by its id or name, with the next `ahead` ticks."""
    path = path_of("schedules", schedule)
    return Request(method="GET", path=path, read=model(ScheduleView), params={"next": ahead})


def change_schedule(
    schedule: str,
    *,
    task: str | None = None,
    message: str | None = None,
    cron: str | None = None,
    every: float | timedelta | None = None,
    at: datetime | str | None = None,
    timezone: str | None = None,
    start_at: datetime | str | None = None,
    end_at: datetime | str | None = None,
    jitter: float | None = None,
    catch_up: CatchUp | None = None,
    catch_up_limit: int | None = None,
    overlap: OverlapPolicy | None = None,
    session_id: str | None = None,
    version: str | None = None,
    priority: int | None = None,
    tags: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    max_cost: Amount | None = None,
    max_tokens: int | None = None,
    turns: int | None = None,
    deadline: float | None = None,
    can_wait: float | None = None,
    on_limit: Literal["end", "wait"] | None = None,
    idempotency_key: str | None = None,
) -> Request[ScheduleView]:
    """Change a schedule; what is None stays. With other times it begins anew: it catches up on nothing."""
    body = _body(
        task=task,
        message=message,
        cron=cron,
        every=every,
        at=at,
        timezone=timezone,
        start_at=start_at,
        end_at=end_at,
        jitter=jitter,
        catch_up=catch_up,
        catch_up_limit=catch_up_limit,
        overlap=overlap,
        session_id=session_id,
        version=version,
        priority=priority,
        tags=tags,
        metadata=metadata,
        max_cost=max_cost,
        max_tokens=max_tokens,
        turns=turns,
        deadline=deadline,
        on_limit=on_limit,
        can_wait=can_wait,
    )
    return Request(
        method="PATCH",
        path=path_of("schedules", schedule),
        read=model(ScheduleView),
        body=body,
        idempotency_key=idempotency_key,
    )


def remove_schedule(schedule: str) -> Request[ScheduleView]:
    """Delete a schedule with its ticks, and return it as it was; its runs stay."""
    return Request(method="DELETE", path=path_of("schedules", schedule), read=model(ScheduleView))


def pause_schedule(
    schedule: str, note: str | None = None, *, idempotency_key: str | None = None
) -> Request[ScheduleView]:
    """Let no tick happen until the schedule is resumed."""
    return Request(
        method="POST",
        path=path_of("schedules", schedule, "pause"),
        read=model(ScheduleView),
        body=given(note=note),
        idempotency_key=idempotency_key,
    )


def resume_schedule(schedule: str, *, idempotency_key: str | None = None) -> Request[ScheduleView]:
    """End a pause; ticks that were due meanwhile do not happen."""
    return Request(
        method="POST",
        path=path_of("schedules", schedule, "resume"),
        read=model(ScheduleView),
        idempotency_key=idempotency_key,
    )


def trigger_schedule(schedule: str, *, idempotency_key: str | None = None) -> Request[RunView]:
    """Submit a run of the schedule now, and return it; its next tick stays."""
    return Request(
        method="POST",
        path=path_of("schedules", schedule, "trigger"),
        read=model(RunView),
        idempotency_key=idempotency_key,
    )


def ticks(
    schedule: str, *, outcome: TickState | None = None, cursor: str | None = None, limit: int = 50
) -> Request[Page[TickView]]:
    """Return a page of the ticks of a schedule, newest first, with the ids of their runs."""
    params = given(outcome=outcome, cursor=cursor, limit=limit)
    return Request(
        method="GET", path=path_of("schedules", schedule, "ticks"), read=model(Page[TickView]), params=params
    )


def _body(
    *,
    every: float | timedelta | None,
    at: datetime | str | None,
    start_at: datetime | str | None,
    end_at: datetime | str | None,
    tags: Sequence[str] | None,
    max_cost: Amount | None,
    max_tokens: int | None,
    turns: int | None,
    deadline: float | None,
    on_limit: str | None,
    can_wait: float | None,
    **same: Any,
) -> Json:
    """Return the settings that are given, as the API takes them."""
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    moments = {"at": moment(at), "start_at": moment(start_at), "end_at": moment(end_at)}
    amounts = {"max_tokens": max_tokens, "turns": turns, "deadline": deadline, "can_wait": can_wait}
    limits = limits_of(max_cost=max_cost, on_limit=on_limit, **amounts)
    tagged = None if tags is None else list(tags)
    return given(every=seconds, tags=tagged, limits=limits or None, **moments, **same)
