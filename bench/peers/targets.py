"""The figures to reach: each with its floor, its aim, and how it is read from the findings.

A ratio is taken within each round, so that what else the machine does meets both sides. Where several loops count, the
worst of them does.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.counting import content_bytes, turns_of
from bench.peers.document import Findings, Sample
from bench.peers.figures import names

# The values, round by round, and the loop that they are of; no values if it was not measured.
Measured = tuple[Sequence[float], str]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure to reach: at least its floor, or `at_most` it."""

    label: str
    floor: float | None
    aim: float | None = None
    at_most: bool = False
    unit: str = ""
    read: Callable[[Findings], Measured]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A figure beside what was measured: the median, and the range of the rounds."""

    target: Target
    values: Sequence[float]
    loop: str

    @property
    def label(self) -> str:
        """The name of the target, with its loop if it has several."""
        return f"{self.target.label} ({self.loop})" if self.loop else self.target.label

    @property
    def median(self) -> float | None:
        """The median of the rounds; None if it was not measured."""
        return statistics.median(self.values) if self.values else None

    @property
    def shown(self) -> str:
        """The median and the range, as they are printed: one that misses a bound does not look like the bound."""
        bounds = [number(bound) for bound in (self.target.floor, self.target.aim) if bound is not None]
        digits = 4 if self.median is not None and number(self.median) in bounds else 3
        return median_and_range(self.values, self.target.unit, digits)

    @property
    def floor_shown(self) -> str:
        """The floor, as it is printed."""
        return self._bound(self.target.floor)

    @property
    def aim_shown(self) -> str:
        """The aim, as it is printed."""
        return self._bound(self.target.aim)

    @property
    def verdict(self) -> str:
        """The best that was reached, `aim` or `floor`, else `missed`, or `not measured`."""
        if self.median is None:
            return "not measured"
        if self._reached(self.target.aim):
            return "aim"
        return "floor" if self._reached(self.target.floor) else "missed"

    def _reached(self, bound: float | None) -> bool:
        if bound is None or self.median is None:
            return False
        return self.median <= bound if self.target.at_most else self.median >= bound

    def _bound(self, bound: float | None) -> str:
        if bound is None:
            return ""
        return f"{'at most' if self.target.at_most else 'at least'} {number(bound)}{self.target.unit}"


def number(value: float, digits: int = 3) -> str:
    """Print a figure: whole from 100 on, else with so many digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def median_and_range(values: Sequence[float], unit: str = "", digits: int = 3) -> str:
    """Print `median (least to greatest)`, the median alone if there is one value, a dash if there is none."""
    if not values:
        return "–"
    median = f"{number(statistics.median(values), digits)}{unit}"
    return median if len(values) == 1 else f"{median} ({number(min(values), digits)} to {number(max(values), digits)})"


def judged(findings: Findings) -> list[Line]:
    """Return every figure beside what was measured."""
    lines = []
    for target in TARGETS:
        values, loop = target.read(findings)
        lines.append(Line(target=target, values=values, loop=loop))
    return lines


def _rate(contender: str, conversations: int) -> Callable[[Findings], Measured]:
    return lambda found: _worst(found, contender, conversations, lambda sample: sample.rate)


def _ratio(contender: str, to: str, conversations: int) -> Callable[[Findings], Measured]:
    def read(findings: Findings) -> Measured:
        others = {(sample.round, sample.loop): sample.rate for sample in findings.of(to)}

        def ratio(sample: Sample) -> float | None:
            other = others.get((sample.round, sample.loop))
            return None if other is None else sample.rate / other

        return _worst(findings, contender, conversations, ratio)

    return read


def _cpu(contender: str) -> Callable[[Findings], Measured]:
    return lambda found: _worst(found, contender, None, lambda sample: sample.cpu, least=False)


def _bytes(contender: str) -> Callable[[Findings], Measured]:
    def beyond(sample: Sample) -> float | None:
        if sample.bytes_per_turn is None:
            return None
        return sample.bytes_per_turn - content_bytes(sample.turns) / turns_of(sample.turns)

    return lambda found: _worst(found, contender, None, beyond, least=False)


def _figure(name: str) -> Callable[[Findings], Measured]:
    return lambda found: (found.values(name), "")


def _worst(
    findings: Findings,
    contender: str,
    conversations: int | None,
    value: Callable[[Sample], float | None],
    *,
    least: bool = True,
) -> Measured:
    """The values of the loop whose median is the worst, among those of so many conversations."""
    by_loop = {
        f"{turns:,} turns, {at_once} at once": _present(value(s) for s in findings.of(contender, (turns, at_once)))
        for turns, at_once in findings.loops()
        if conversations in (None, at_once)
    }
    by_loop = {loop: values for loop, values in by_loop.items() if values}
    if not by_loop:
        return [], ""
    worst = (min if least else max)(by_loop, key=lambda loop: statistics.median(by_loop[loop]))
    return by_loop[worst], worst


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _figure_target(name: str, floor: float, aim: float, *, at_most: bool = True) -> Target:
    return Target(label=name, floor=floor, aim=aim, at_most=at_most, read=_figure(name))


def _ratio_target(contender: str, label: str, to: str, other: str, at_once: int, floor: float) -> Target:
    return Target(
        label=f"{label}, {at_once} at once, to {other}", floor=floor, unit=" x", read=_ratio(contender, to, at_once)
    )


def _rate_target(contender: str, label: str, at_once: int, floor: float | None, aim: float) -> Target:
    return Target(label=f"{label}, {at_once} at once, turns/s", floor=floor, aim=aim, read=_rate(contender, at_once))


_NORMAL, _FULL = "turnwise-embedded-normal", "turnwise-embedded-full"
_DISTRIBUTED, _WORKERS, _POOLS = "turnwise-distributed", "turnwise-workers", "turnwise-pools"

TARGETS = (
    _rate_target("turnwise-sync", "in-process, sync", 1, 9_000, 12_000),
    _rate_target("turnwise-async", "in-process, async", 1, 8_000, 12_000),
    _figure_target(names.SIDE_BY_SIDE, 1.2, 1.1),
    _rate_target(_NORMAL, "embedded, SQLite NORMAL", 1, 1_500, 2_500),
    _ratio_target(_NORMAL, "embedded, SQLite NORMAL", "langgraph-sqlite", "LangGraph, SQLite NORMAL", 1, 3.0),
    _rate_target(_FULL, "embedded, SQLite FULL", 50, None, 2_500),
    _ratio_target(_FULL, "embedded, SQLite FULL", "langgraph-sqlite-full", "LangGraph, SQLite FULL", 50, 3.0),
    _rate_target(_DISTRIBUTED, "distributed", 1, None, 700),
    _ratio_target(_DISTRIBUTED, "distributed", "langgraph-postgres", "LangGraph, PostgreSQL", 1, 1.2),
    _ratio_target(_DISTRIBUTED, "distributed", "celery", "bare Celery's two hops", 1, 1.0),
    # Of one worker, and of as many as bare Celery has.
    *(
        target
        for contender, label in ((_DISTRIBUTED, "distributed"), (_WORKERS, "distributed, two workers"))
        for target in (
            _rate_target(contender, label, 50, None, 1_200),
            _ratio_target(contender, label, "langgraph-postgres", "LangGraph, PostgreSQL", 50, 2.0),
            _ratio_target(contender, label, "dbos-postgres", "DBOS, PostgreSQL", 50, 3.0),
            _ratio_target(contender, label, "celery", "bare Celery's two hops", 50, 1.0),
            Target(
                label=f"CPU of a turn, all processes, {label}",
                floor=2.0,
                aim=1.2,
                at_most=True,
                unit=" ms",
                read=_cpu(contender),
            ),
        )
    ),
    *(
        _figure_target(name, 1.05, 1.0)
        for name in (names.AGEING_IN_PROCESS, names.AGEING_EMBEDDED, names.AGEING_DISTRIBUTED)
    ),
    *(
        Target(
            label=f"bytes stored a turn beyond its content, {way}",
            floor=2_000,
            aim=1_200,
            at_most=True,
            read=_bytes(contender),
        )
        for way, contender in (("embedded", _NORMAL), ("distributed", _DISTRIBUTED))
    ),
    _figure_target(names.BROKER_MESSAGES, 0.1, 0.05),
    *(
        Target(
            label=f"a pool for models and another for tools, {at_once} at once, to bare Celery's two hops",
            floor=0.6,
            aim=0.8,
            unit=" x",
            read=_ratio(_POOLS, "celery", at_once),
        )
        for at_once in (1, 50)
    ),
    _figure_target(names.FIRST_CALL_P50, 15, 8),
    _figure_target(names.FIRST_CALL_P99, 40, 20),
    _figure_target(names.SUBMISSIONS, 400, 800, at_most=False),
    _figure_target(names.SLOW_CALLS_BEYOND, 10, 5),
    _figure_target(names.SLOW_CALLS_MEMORY, 200, 150),
)
