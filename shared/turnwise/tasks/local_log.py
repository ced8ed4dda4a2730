"""The log of a run in this process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.observability.display import current_settings

if TYPE_CHECKING:
    from turnwise.tasks.task import Task
    from turnwise.transcripts.run_log import RunLog
    from turnwise.transcripts.sink import Sink, TranscriptForm


def local_log(task: Task[Any]) -> RunLog | None:
    """The log of a run of this root: files as its configuration says, and the terminal, unless it has to be quiet.

    None for none of both, which costs a run nothing.
    """
    config = task.config
    to_files = config.logs_dir is not None and config.enable_loggers
    to_screen = not current_settings().quiet and sys.stdout is not None and sys.stdout.isatty()
    if not (to_files or to_screen):
        return None
    # Loaded only where it is used.
    from turnwise.transcripts.run_log import RunLog

    sinks: list[Sink] = []
    if config.logs_dir is not None and to_files:
        sinks.append(_files(task, Path(config.logs_dir)))
    if to_screen:
        from turnwise.transcripts.screen import ScreenSink, colored

        sinks.append(ScreenSink(sys.stdout, color=colored(sys.stdout)))
    return RunLog(task.name, sinks)


def _files(task: Task[Any], folder: Path) -> Sink:
    from turnwise.transcripts.sink import FolderSink
    from turnwise.transcripts.text import Text
    from turnwise.transcripts.tsv import Tsv

    forms: dict[str, TranscriptForm] = {"log": Text(color=task.color_log), "tsv": Tsv()}
    if task.config.enable_html_logging:
        from turnwise.transcripts.page.html import TranscriptPage

        forms["html"] = TranscriptPage()
    return FolderSink(folder, forms)
