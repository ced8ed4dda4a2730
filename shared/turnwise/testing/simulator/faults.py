"""The faults of a schedule: how often they come, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Chances, each per occasion, of what may go wrong; nothing does after `until`, in simulated seconds.

    Occasions: a transaction for `kill_before_commit`, `kill_after_commit`, `database_away`, `commit_lost` (it is
    undone) and `answer_lost` (it is kept, and no one is told); a request to a `SimulatedProvider` for
    `kill_at_provider` (it is done, and whoever asked is killed); any step for `kill`, `freeze` and `slow`; a message
    for `message_lost`, `message_doubled` and `message_late`; a call of the broker for `broker_away`; a model call for
    `model_slow` and `model_error` (a 429 or a 503); an accepted run for `pause` (a queue, its task or its tenant is
    paused, and resumed some seconds later). `kill_at` kills at exactly those commit points of the schedule.
    `skew` is by how much a process's clock may go wrong, as a share. At most `most` faults of all kinds happen.
    """

    kill: float = 0.0
    kill_before_commit: float = 0.0
    kill_after_commit: float = 0.0
    kill_at_provider: float = 0.0
    kill_at: tuple[int, ...] = ()
    stop: float = 0.0
    freeze: float = 0.0
    slow: float = 0.0
    database_away: float = 0.0
    commit_lost: float = 0.0
    answer_lost: float = 0.0
    outage: float = 0.0
    broker_away: float = 0.0
    broker_restart: float = 0.0
    message_lost: float = 0.0
    message_doubled: float = 0.0
    message_late: float = 0.0
    model_slow: float = 0.0
    model_error: float = 0.0
    skew: float = 0.0
    pause: float = 0.0
    most: int = 12
    until: float = 20.0


QUIET = Faults(most=0, until=0.0)

_CHANCES: dict[str, tuple[float, ...]] = {
    "kill": (0.002, 0.01),
    "kill_before_commit": (0.02, 0.1),
    "kill_after_commit": (0.02, 0.1),
    "stop": (0.002,),
    "freeze": (0.003, 0.015),
    "slow": (0.01, 0.05),
    "database_away": (0.02, 0.1),
    "commit_lost": (0.02, 0.1),
    "answer_lost": (0.02, 0.1),
    "outage": (0.004,),
    "broker_away": (0.05, 0.3),
    "broker_restart": (0.01,),
    "message_lost": (0.1, 0.4, 1.0),
    "message_doubled": (0.1, 0.5),
    "message_late": (0.1, 0.5),
    "model_slow": (0.2, 0.5),
    "model_error": (0.1, 0.3),
    "skew": (0.3,),
    "pause": (0.3, 1.0),
}
# Commit points that a small run passes; a kill is aimed at one of them.
_POINTS = 60


def chosen(random: Random) -> Faults:
    """A mixture of faults: mostly a few kinds at a time, because too many hide each other."""
    if random.random() < 0.25:
        first = random.randrange(_POINTS)
        more = (first + 1 + random.randrange(20),) if random.random() < 0.5 else ()
        return Faults(kill_at=(first, *more), until=60.0)
    kinds = random.sample(list(_CHANCES), random.choice((1, 2, 3, 5, len(_CHANCES))))
    chances = {kind: random.choice(_CHANCES[kind]) for kind in kinds}
    return Faults(**chances, most=random.choice((1, 2, 4, 8, 16)), until=random.choice((3.0, 10.0, 20.0)))  # type: ignore[arg-type]
