"""The report of a chaos run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from tests.chaos import memory
from tests.chaos.checks import Finding
from tests.chaos.memory import Growth
from tests.chaos.real_run import Outcome
from tests.chaos.recovery import Recovery

# Seconds: how soon work has to go on, in 99 of 100 cases.
AIM = 10.0
# Too few samples say nothing about one in a hundred.
_SHOWN = 5


class Teller:
    """Prints with the seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {text}", flush=True)


def show(outcome: Outcome) -> bool:
    """Return whether everything held."""
    print("faults: " + _counted(Counter(one.fault.kind for one in outcome.happened)))
    print("endings: " + _counted(outcome.endings))
    print("asks by number of attempts: " + ", ".join(f"{row['n']} of {row['attempts']}" for row in outcome.attempts))
    print("parked and resolved: " + (_counted(outcome.parked) or "none"))
    print(f"processes that ended by themselves and were started again: {len(outcome.died)}")
    for name in outcome.died[:_SHOWN]:
        print(f"         {name[-600:]}")
    held = _show_findings(outcome.findings)
    return _show_recoveries(outcome.recoveries) and held


def show_growth(growths: Sequence[Growth]) -> bool:
    """Return whether no process grew by more than it may."""
    print(f"{'process':<20}{'RSS after ' + str(memory.WARM):>16}{'after the last':>16}{'growth':>9}")
    for one in growths:
        sizes = "".join(f"{size / 1e6:>13.1f} MB" for size in (one.before, one.after))
        note = "" if one.same_process else "   another process than then"
        print(f"{one.name:<20}{sizes}{one.share:>8.1%}{note}")
    return bool(growths) and all(one.share <= memory.AIM for one in growths)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))


def _show_findings(findings: Sequence[Finding]) -> bool:
    """Return whether all is well."""
    for finding in findings:
        print(f"{len(finding.faults):6} {finding.what}")
        for fault in finding.faults[:_SHOWN]:
            print(f"         {fault}"[:1500])
        if len(finding.faults) > _SHOWN:
            print(f"         and {len(finding.faults) - _SHOWN} more")
    return all(finding.holds for finding in findings)


def _show_recoveries(recoveries: Sequence[Recovery]) -> bool:
    """Return whether the aim is met where there is one: connections may be spoilt again and again."""
    print(f"{'recovery after':<58}{'samples':>8}{'median':>9}{'99 %':>9}{'longest':>9}")
    for one in recoveries:
        times = "".join(f"{value:8.1f}s" for value in (one.percentile(0.5), one.percentile(0.99), one.percentile(1)))
        print(f"{one.what:<58}{len(one.samples):>8}{times}")
        for sample in [sample for sample in one.samples if sample.seconds > AIM][-_SHOWN:]:
            print(f"         {sample}")
    return all(one.percentile(0.99) <= AIM for one in recoveries if one.counts)
