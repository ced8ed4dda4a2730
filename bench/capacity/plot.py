"""The picture of a prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bench.capacity.simulate import Outcome


def draw(sizes: Sequence[int], found: Mapping[str, Sequence[Outcome]], file: Path) -> None:
    """Write a PNG: turns a second, and the p99 of what a turn takes beside its own work, over worker processes."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    rates, waits = figure.subplots(2, sharex=True)
    for name, outcomes in found.items():
        rates.loglog(sizes, [outcome.rate for outcome in outcomes], marker="o", label=name)
        waits.loglog(sizes, [outcome.overhead["p99"] for outcome in outcomes], marker="o", label=name)
    rates.set_ylabel("turns a second")
    waits.set_ylabel("p99 of a turn's overhead (s)")
    waits.set_xlabel("worker processes of 16 threads")
    for axes in (rates, waits):
        axes.grid(alpha=0.3, which="both")
    rates.legend(loc="upper left")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
