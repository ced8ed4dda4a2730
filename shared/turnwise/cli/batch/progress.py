"""The progress of a batch on a terminal; nothing where there is none."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from turnwise.base.text import visible
from turnwise.cli.text.messages import money

if TYPE_CHECKING:
    from turnwise.api.batches import BatchView


class BatchProgressBar:
    """A bar on stderr, from `with` to its end."""

    def __init__(self, what: str, total: int) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        told = TextColumn("{task.fields[told]}")
        console = Console(stderr=True)
        self._shown = Progress(*columns, told, console=console, transient=True, disable=not sys.stderr.isatty())
        self._task = self._shown.add_task(escape(visible(what)), total=total, told="")

    def show(self, done: int, told: str = "") -> None:
        """Show how many items are done."""
        self._shown.update(self._task, completed=done, told=told)

    def show_batch(self, batch: BatchView) -> None:
        """Show how many items have ended, what became of them and what they cost."""
        counts = batch.counts
        done = counts.completed + counts.limited + counts.failed + counts.cancelled + counts.deleted
        told = [money(batch.usage.cost)]
        told += [f"{counts.failed} failed"] if counts.failed else []
        told += [f"{counts.waiting} waiting"] if counts.waiting else []
        told += [f"limit of {batch.stopped} reached"] if batch.stopped else []
        self.show(done, ", ".join(told))

    def __enter__(self) -> BatchProgressBar:
        self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shown.stop()
