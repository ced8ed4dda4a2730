"""The progress of a batch, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnwise.observability.display import current_settings


@contextmanager
def progress(message: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on the standard error stream; the value is called after each item.

    Nothing is shown in quiet mode, or where there is no terminal.
    """
    if current_settings().quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task(message, total=total)
        yield lambda: bar.advance(line)
