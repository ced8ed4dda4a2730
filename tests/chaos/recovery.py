"""The time until work continues after a fault."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.faults import CONNECTIONS, FREEZES, KILLS, OUTAGES, Happened

# What the record's own clean-up writes is no progress of the run.
_NO_PROGRESS = ("ask.expired", "ask.released", "usage.reserved", "usage.settled")


# As the run's last event: it waits for room with the provider, which has nothing to do with what else goes wrong.
PROVIDER = "ask.deferred provider"

# Time and type of an event.
Step = tuple[float, str]


@dataclass(frozen=True, kw_only=True, order=True)
class Sample:
    """The time that a run took to continue, by which step, and after which fault."""

    seconds: float
    run: str
    step: str
    fault: str

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s until {self.step} of {self.run} after {self.fault}"


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """From a fault, or from its end, to the next step of each run that it affected, in ascending order."""

    what: str
    samples: Sequence[Sample]
    counts: bool  # whether there is an aim for it

    def percentile(self, share: float) -> float:
        """The value that so large a share of the samples does not exceed."""
        if not self.samples:
            return 0.0
        return self.samples[max(0, math.ceil(share * len(self.samples)) - 1)].seconds


def measure(happened: Sequence[Happened], events: Sequence[tuple[str, float, str]]) -> list[Recovery]:
    """By kind of fault. Where another fault hit a run before it had gone on, time counts from the later one."""
    steps: dict[str, list[Step]] = defaultdict(list)
    for run, at, kind in events:
        if kind not in _NO_PROGRESS:
            steps[run].append((at, kind))
    samples: dict[str, list[Sample]] = defaultdict(list)
    for place, one in enumerate(happened):
        for group, kinds in _GROUPS.items():
            if one.fault.kind in kinds:
                samples[group] += _samples(one, happened[place + 1 :], steps)
    return [
        Recovery(what=group, samples=sorted(samples[group]), counts=kinds != CONNECTIONS)
        for group, kinds in _GROUPS.items()
    ]


_GROUPS = {
    "kill -9 of a process": KILLS,
    "freeze of a process, from its end": FREEZES,
    "restart of a database or broker, from its first answer": OUTAGES,
    "spoilt connections, from their end": CONNECTIONS,
}


def _samples(one: Happened, later: Sequence[Happened], steps: Mapping[str, Sequence[Step]]) -> list[Sample]:
    found = []
    for run in one.affected:
        at = steps.get(run, ())
        place = bisect_right(at, (one.began, ""))
        if place == len(at):  # it never went on, which another check tells
            continue
        if place and at[place - 1][1] == PROVIDER:
            continue
        went_on, step = at[place]
        if any(other.began < went_on and run in other.affected for other in later):
            continue  # counted with that one
        seconds = max(0.0, went_on - one.over)
        found.append(Sample(seconds=seconds, run=run, step=step, fault=str(one.fault)))
    return found
