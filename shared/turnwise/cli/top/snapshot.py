"""The state of an installation at one moment, as the gateway tells it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnwise.base.money import decimal_string
from turnwise.cli.text.messages import as_json

if TYPE_CHECKING:
    from turnwise.client import Client

Json = dict[str, Any]

UNFINISHED = ("running", "waiting", "queued")
# The statuses of the runs that each filter shows; None is all of them.
FILTERS: dict[str, tuple[str | None, ...]] = {
    "unfinished": UNFINISHED,
    "running": ("running",),
    "waiting": ("waiting",),
    "queued": ("queued",),
    "failed": ("failed",),
    "all": (None,),
}
# Of each status, the newest; a terminal has room for no more.
_RUNS = 50
_SPENDERS = 200
_MINUTES = 10
_STEP = 30


@dataclass(frozen=True, kw_only=True)
class FleetSnapshot:
    """Runs of a filter, the queues, and the spend of today (UTC).

    `counts` are of unfinished runs, with a plus where there are more than were looked at. `points` are the samples of
    the last ten minutes.
    """

    at: datetime
    url: str
    filter: str
    fleet: bool
    runs: list[Json]
    counts: dict[str, str]
    queues: list[Json]
    spenders: list[Json]
    spent: Json
    points: list[Json]
    questions: int
    parked: int

    def as_json(self) -> Json:
        """Return all of it, for scripts."""
        return asdict(self) | {"at": self.at.isoformat()}


def take_snapshot(client: Client, *, filter: str = "unfinished", fleet: bool = False) -> FleetSnapshot:
    """Ask the gateway for all of it; with `fleet` the queues and the spend are those of all tenants.

    Raises what a request raises, for instance `GatewayUnavailableError`.
    """
    now = datetime.now(UTC)
    today = now.date().isoformat()
    pages = {status: client.runs(status=status, limit=_RUNS) for status in {*UNFINISHED, *FILTERS[filter]}}
    by = "tenant" if fleet else "task"
    spenders = client.spenders(by, first=today, last=today, fleet=fleet, limit=_SPENDERS).items  # type: ignore[arg-type]
    series = client.series(since=now - timedelta(minutes=_MINUTES), until=now, step=_STEP, fleet=fleet)
    inbox = client.inbox_count()
    items = [as_json(item) for item in spenders]
    return FleetSnapshot(
        at=now,
        url=client.base_url,
        filter=filter,
        fleet=fleet,
        runs=[as_json(run) for status in FILTERS[filter] for run in pages[status].items],
        counts={status: _count(pages[status]) for status in UNFINISHED},
        queues=[as_json(queue) for queue in client.queues(fleet=fleet)],
        spenders=items,
        spent=_sum(items),
        points=[as_json(point) for point in series.points],
        questions=inbox.questions,
        parked=inbox.parked,
    )


def tokens_of(usage: Json) -> int:
    """Return input and output tokens together."""
    return int(usage["prompt_tokens"]) + int(usage["completion_tokens"])


def _count(page: Any) -> str:
    return f"{len(page.items)}{'+' if page.next_cursor else ''}"


def _sum(spenders: list[Json]) -> Json:
    return {
        "calls": sum(one["calls"] for one in spenders),
        "unpriced_calls": sum(one["unpriced_calls"] for one in spenders),
        "tokens": sum(map(tokens_of, spenders)),
        "cost": decimal_string(sum((Decimal(one["cost"]) for one in spenders), Decimal())),
    }
