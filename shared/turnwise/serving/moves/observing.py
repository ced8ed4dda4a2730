"""The callbacks of an application's tasks, told of a move once it is on record."""

from __future__ import annotations

import logging

from turnwise.app import App
from turnwise.serving.moves.move import Moved
from turnwise.tasks.callbacks import tell_tasks

logger = logging.getLogger(__name__)


def tell_callbacks(app: App, moved: Moved) -> None:
    """Tell the tasks of sub-tasks that began or ended; what a callback raises is logged, for the move is made."""
    try:
        for item in moved.trace:
            tell_tasks(app.tree(moved.run.task).tasks, item)
    except Exception:
        logger.exception("A callback failed after a move of run %s", moved.run.id, extra={"action": "callback_failed"})
