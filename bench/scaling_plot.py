"""The picture of a burst: work, workers, and how long the work waited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bench.scaled_pool import Look


def draw(looks: list[Look], asks: list[dict[str, Any]], begun: float, file: Path) -> None:
    """Write a PNG of the looks and the asks on record; times count from `begun`, a time of the epoch."""
    at = [look.at - begun for look in looks]
    figure = Figure(figsize=(9, 7), layout="constrained")
    work, workers, waits = figure.subplots(3, sharex=True)
    work.plot(at, [look.backlog for look in looks], color="tab:red")
    work.set_ylabel("turnwise_backlog")
    workers.step(at, [look.wanted for look in looks], where="post", label="wanted", color="tab:gray", linestyle="--")
    workers.step(at, [look.ready for look in looks], where="post", label="ready", color="tab:blue")
    workers.step(at, [look.ending for look in looks], where="post", label="ending", color="tab:orange")
    workers.set_ylabel("worker processes")
    workers.legend(loc="upper right")
    for responder, colour in (("llm", "tab:green"), ("agent", "tab:purple")):
        done = [ask for ask in asks if ask["responder"] == responder]
        times = [ask["closed_at"] - begun for ask in done]
        waits.scatter(times, [ask["closed_at"] - ask["created_at"] for ask in done], s=4, color=colour, label=responder)
    waits.set_ylabel("ask to reply (s)")
    waits.set_xlabel("seconds")
    waits.legend(loc="upper right")
    for axes in (work, workers, waits):
        axes.grid(alpha=0.3)
        axes.set_ylim(bottom=0)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
