"""The telemetry and the log of a run in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from turnwise.base.text import first_line, visible
from turnwise.machine.actions import Finish
from turnwise.messages.entity import StatusCode
from turnwise.messages.stop_reason import StopReason
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.conversation import about, conversation
from turnwise.observability.telemetry.spans import NO_SPAN, Spot, listened, span

logger = logging.getLogger(__name__)


def tell_stopped(task: str, reason: StopReason) -> None:
    """Log the limit that ended a run: as a warning, but for `turns`, which are often what someone wants."""
    level = logging.INFO if reason.limit == "turns" else logging.WARNING
    extra = {"action": "run_stopped", "limit": reason.limit, "scope": reason.scope, "path": task}
    # A model may have named the task.
    logger.log(level, "Task %s %s", first_line(visible(task)), reason, extra=extra)


def running(task: str, session_id: str) -> AbstractContextManager[Spot | None]:
    """Around a whole run; a run within another's handler belongs to the same conversation."""
    return _running(task, session_id) if listened(names.WORKFLOW_DURATION) else NO_SPAN


@contextmanager
def _running(task: str, session_id: str) -> Iterator[Spot]:
    with about(conversation=session_id or None):
        told = conversation() | {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW: task}
        measured = (names.OPERATION, names.WORKFLOW)
        name = f"{names.INVOKE_WORKFLOW} {task}"
        with span(name, told, metric=names.WORKFLOW_DURATION, measured=measured) as spot:
            yield spot


def ended(spot: Spot | None, finish: Finish, used: LLMTokenUsage) -> None:
    """The run has ended, and used that."""
    if spot is None:
        return
    spot.set(
        {
            names.STATUS: finish.status.value,
            names.INPUT_TOKENS: used.prompt_tokens,
            names.OUTPUT_TOKENS: used.completion_tokens,
            names.COST: None if used.cost is None else float(used.cost),
        }
    )
    if finish.status in _FAILED:
        spot.failed(finish.status.value)


_FAILED = (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP, StatusCode.TIMEOUT, StatusCode.ERROR)
