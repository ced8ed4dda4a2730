"""Names of `langroid.agent.batch`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        ExceptionHandling,
        agent_response_batch,
        llm_response_batch,
        run_batch_agent_method,
        run_batch_function,
        run_batch_task_gen,
        run_batch_tasks,
    )

__all__ = [
    "ExceptionHandling",
    "agent_response_batch",
    "llm_response_batch",
    "run_batch_agent_method",
    "run_batch_function",
    "run_batch_task_gen",
    "run_batch_tasks",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
