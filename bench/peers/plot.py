"""The picture of a run: turns a second of each contender, in each loop."""

from __future__ import annotations

import statistics
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from bench.peers.document import Findings
from bench.peers.roster import CONTENDERS

_OURS, _PEERS = "tab:blue", "tab:orange"


def draw(findings: Findings, file: Path) -> None:
    """Write a PNG: a point for each median, on a logarithmic scale, and a line from the least to the greatest."""
    played = [contender for contender in CONTENDERS if findings.of(contender.name)]
    loops = findings.loops()
    rows, columns = (len(loops) + 1) // 2, min(2, len(loops))
    figure = Figure(figsize=(10, 1.2 + 0.3 * len(played) * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, loop in zip(grid.flat, loops, strict=False):
        for place, contender in enumerate(played):
            rates = [sample.rate for sample in findings.of(contender.name, loop)]
            if rates:
                colour = _OURS if contender.name.startswith("turnwise") else _PEERS
                axes.plot([min(rates), max(rates)], [place, place], color=colour, linewidth=3, alpha=0.4)
                axes.plot(statistics.median(rates), place, marker="o", color=colour)
        axes.set_title(f"{loop[0]:,} turns, {loop[1]} at once", fontsize="medium")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", labelbottom=True)
        axes.set_xlabel("turns a second")
        axes.set_yticks(range(len(played)), [contender.label for contender in played], fontsize="small")
        axes.grid(alpha=0.3, which="both")
    for axes in grid.flat[len(loops) :]:
        axes.set_visible(False)
    grid.flat[0].invert_yaxis()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
