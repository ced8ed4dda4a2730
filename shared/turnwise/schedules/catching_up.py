"""Ticks that were missed: which of the ticks that are due happen, and which do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from turnwise.schedules.policies import CatchUp
from turnwise.schedules.timing import Timing

# A tick that happens within so many seconds was not missed.
PUNCTUAL = 60.0
# Ticks that one step looks at; more are left to the next.
_AT_A_TIME = 500
MOST_CAUGHT_UP = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class CatchUpPolicy:
    """The treatment of ticks that no one was there for. `limit` is for `all`: so many happen, the newest."""

    kind: CatchUp = "last"
    limit: int = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """One step of a schedule: ticks to be noted as missed, at most one that happens, and the one that is due next."""

    missed: tuple[float, ...] = ()
    tick: float | None = None
    following: float | None = None


def step(timing: Timing, policy: CatchUpPolicy, salt: str, due: float, now: float) -> Due:
    """Return the next step of a schedule whose oldest tick that has not happened is `due`.

    A tick was missed if the one after it is due as well, or if it is late by more than a minute.
    """
    times = [due]
    for later in islice(timing.after(due), _AT_A_TIME):
        times.append(later)
        if timing.fires_at(later, salt) > now:
            break
    reached = len(times) > 1 and timing.fires_at(times[-1], salt) > now
    following = times.pop() if reached else None
    if len(times) > _AT_A_TIME:  # there may be more, and those count as newer
        kept = times[-policy.limit :]
        return Due(missed=tuple(times[: -policy.limit]), following=kept[0])
    late = now - timing.fires_at(times[-1], salt) > PUNCTUAL
    happening = _happening(policy, times, late=late)
    missed = times[: len(times) - len(happening)]
    return Due(
        missed=tuple(missed),
        tick=happening[0] if happening else None,
        following=happening[1] if len(happening) > 1 else following,
    )


def _happening(policy: CatchUpPolicy, times: list[float], *, late: bool) -> list[float]:
    if policy.kind == "all":
        return times[-policy.limit :]
    return [] if late and policy.kind == "skip" else times[-1:]
