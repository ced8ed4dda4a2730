"""A schedule that ticks every few seconds of a chaos run: each tick has exactly one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from tests.chaos.checks import Finding
from tests.e2e.waiting import until

from turnwise.api.schedules import ScheduleView, TickView
from turnwise.client import Client

_NAME = "ticker"
_SECONDS = 3.0
_PATIENCE = 60.0


def begin(client: Client) -> ScheduleView:
    """Make the schedule, which catches up on all ticks that no coordinator was there for, and return it."""
    return client.create_schedule(
        _NAME, "tick", "go", every=_SECONDS, catch_up="all", catch_up_limit=100, overlap="allow"
    )


def end(client: Client, made: ScheduleView, tell: Callable[[str], None]) -> list[Finding]:
    """End the schedule, await the ends of its runs, and see that each tick since it was `made` has one."""
    now = datetime.now(UTC)
    until(lambda: client.schedule(_NAME, ahead=1).next_ticks[0] > now, "the ticks that are due", _PATIENCE)
    client.pause_schedule(_NAME)
    ticks = sorted(client.all_ticks(_NAME, limit=200), key=lambda tick: tick.due_at)
    runs = {run.id: run for run in client.all_runs(tag=f"schedule:{_NAME}", limit=200)}
    until(lambda: all(client.run(run).finished_at for run in runs), "the ends of the ticks' runs", _PATIENCE)
    tell(f"the schedule ticked {len(ticks)} times")
    return [
        Finding(what="ticks without a run", faults=[str(tick) for tick in ticks if tick.run not in runs]),
        Finding(what="runs without a tick", faults=sorted(set(runs) - {str(tick.run) for tick in ticks})),
        Finding(what="ticks that were left out or doubled", faults=_uneven(made.next_ticks[0], ticks, now)),
    ]


def _uneven(first: datetime, ticks: Sequence[TickView], now: datetime) -> list[str]:
    """Return the differences from one tick every so many seconds, from the first until now."""
    due = [(tick.due_at - first).total_seconds() / _SECONDS for tick in ticks]
    steps = Counter(round(step) for step in due)
    wanted = range(max(len(due), int((now - first).total_seconds() / _SECONDS) + 1))
    return [
        *(f"tick {step}: {steps[step]} times" for step in wanted if steps[step] != 1),
        *(
            f"{tick.due_at} is no time of a tick"
            for tick, step in zip(ticks, due, strict=True)
            if abs(step - round(step)) > 0.01
        ),
    ]
