"""Which log a run in this process keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.run_log.form import Form
    from turnwise.run_log.run_log import RunLog
    from turnwise.tasks.task import Task


def local_log(task: Task[Any]) -> RunLog | None:
    """The log of a run of this root, as its configuration says; None for none, which costs a run nothing."""
    config = task.config
    if config.logs_dir is None or not config.enable_loggers:
        return None
    # Loaded only where it is used.
    from turnwise.run_log.run_log import RunLog
    from turnwise.run_log.sink import FolderSink
    from turnwise.run_log.text import Text
    from turnwise.run_log.tsv import Tsv

    forms: dict[str, Form] = {"log": Text(color=task.color_log), "tsv": Tsv()}
    if config.enable_html_logging:
        from turnwise.run_log.page.html import Page

        forms["html"] = Page()
    return RunLog(task.name, [FolderSink(Path(config.logs_dir), forms)])
