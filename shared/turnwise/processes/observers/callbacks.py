"""The callbacks of an application's tasks, told of a move once it is on record."""

from __future__ import annotations

import logging

from turnwise.app import App
from turnwise.base.process_end import ends_process
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observer
from turnwise.tasks.callbacks import tell_tasks

logger = logging.getLogger(__name__)


class ApplicationCallbacks(Observer):
    """Tells the tasks of sub-tasks that began or ended; what a callback raises is logged, for the move is made."""

    def __init__(self, app: App) -> None:
        self._app = app

    def run_moved(self, moved: Moved, seconds: float | None) -> None:
        """Call the callbacks of the move's tasks."""
        try:
            for item in moved.trace:
                tell_tasks(self._app.tree(moved.run.task).tasks, item)
        except BaseException as error:
            if ends_process(error):
                raise
            logger.exception(
                "A callback failed after a move of run %s", moved.run.id, extra={"action": "callback_failed"}
            )
