"""The callbacks of an application when a task calls another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnwise.agents.callbacks import CallbackSet, nothing, refuse_unawaited
from turnwise.machine.actions import Trace
from turnwise.messages.document import ChatDocument

if TYPE_CHECKING:
    from turnwise.tasks.task import Task


@dataclass
class TaskCallbacks(CallbackSet):
    """Functions that a user interface sets on `task.callbacks`; until then each does nothing.

    - `show_subtask_response(task, content, is_tool)`: the sub-task `task` has ended; `content` is the text of its
      result, or its tools as JSON, "NONE" if it had no result.
    - `set_parent_agent(parent)`: this task was called by a task of the agent `parent`; the callback of that name of
      this task's agent is called as well.

    In a served run they are called by the process that makes the run's moves, once a move is on record.
    """

    show_subtask_response: Callable[..., Any] = nothing
    set_parent_agent: Callable[[Any], Any] = nothing


def tell_tasks(tasks: Mapping[str, Task[Any]], item: Trace) -> None:
    """Tell of a call of a sub-task, or of its end; `tasks` are those of the tree, by path."""
    if item.kind not in ("started", "finished"):
        return
    caller = tasks.get(item.path.rpartition("/")[0])
    if caller is None:
        return
    task = tasks[item.path]
    if item.kind == "started":
        for callbacks in (task.agent.callbacks, task.callbacks):
            refuse_unawaited(callbacks.set_parent_agent(caller.agent), "set_parent_agent")
    elif caller.callbacks.is_set("show_subtask_response"):
        content, is_tool = _shown(item.document)
        caller.callbacks.tell("show_subtask_response", task=task, content=content, is_tool=is_tool)


def _shown(result: ChatDocument | None) -> tuple[str, bool]:
    if result is None:
        return "NONE", False
    content = result.content or "\n".join(tool.to_json() for tool in result.tool_messages)
    return content, bool(result.tool_messages or result.json_objects())
