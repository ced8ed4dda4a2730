"""A task with everything below it: specs, tasks by path, agents by key, and the tools that they know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from turnwise.errors import ApplicationError
from turnwise.machine.sequences import compile_sequence
from turnwise.machine.spec import TaskSpec
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_registry import ToolRegistry
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT, FinalResultTool
from turnwise.messages.tools.recipient import AddRecipientTool, RecipientTool
from turnwise.messages.tools.rewind import RewindTool

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent
    from turnwise.tasks.task import Task

_ALWAYS: tuple[type[ToolMessage], ...] = (
    *HANDLED_BY_DEFAULT,
    FinalResultTool,
    RecipientTool,
    AddRecipientTool,
    RewindTool,
)
_ALWAYS_KNOWN = {tool.name(): tool for tool in _ALWAYS}


@dataclass
class TaskTree:
    """Built from a root task; an agent's key is the path of the first task that holds it."""

    root: TaskSpec
    tasks: dict[str, Task] = field(default_factory=dict)
    agents: dict[str, ChatAgent] = field(default_factory=dict)
    _registry: ToolRegistry | None = None

    def can_wait(self, path: str) -> float | None:
        """Return the `can_wait` of the task at `path`, or else of its nearest caller that has one."""
        while path:
            task = self.tasks.get(path)
            if task is not None and task.config.can_wait is not None:
                return task.config.can_wait
            path = path.rpartition("/")[0]
        return None

    def registry(self) -> ToolRegistry:
        """Every tool that some agent of the tree knows; tools cross processes through it.

        Made once: agents of a served tree stay as the factory made them, and each turn asks for it.
        """
        if self._registry is None:
            self._registry = ToolRegistry()
            for key, agent in self.agents.items():
                self._registry.add(key, agent.toolbox.known)
            for name, kind in _ALWAYS_KNOWN.items():
                self._registry.setdefault(name, kind)
        return self._registry


def build_tree(root: Task) -> TaskTree:
    """Walk the tree; raises `ApplicationError` for a task that contains itself."""
    tree = TaskTree(root=None)  # type: ignore[arg-type]  # filled in below
    keys: dict[int, str] = {}
    tree.root = _spec(root, "", root.config.restart_as_subtask, tree, keys, ())
    return tree


def alias_of(task: Task[Any]) -> str:
    """Return the name besides its own by which the task is addressed: of a clone, that of its original; "" for none.

    A sub-task of that name is addressed by it instead.
    """
    return "" if task.sub_task_named(task._cloned_from) is not None else task._cloned_from


def _spec(
    task: Task, above: str, restart_as_subtask: bool, tree: TaskTree, keys: dict[int, str], callers: tuple[Task, ...]
) -> TaskSpec:
    path = f"{above}/{task.name}" if above else task.name
    if task in callers:
        raise ApplicationError(
            f"task {task.name!r} contains itself (at {path!r}); a task cannot be its own sub-task, "
            "make a second Task over the same agent instead"
        )
    key = keys.setdefault(id(task.agent), path)
    tree.tasks[path] = task
    tree.agents.setdefault(key, task.agent)
    subs = tuple(_spec(sub, path, restart, tree, keys, (*callers, task)) for sub, restart in task.sub_task_entries())
    config = task.config
    return TaskSpec(
        name=task.name,
        path=path,
        agent=key,
        alias=alias_of(task),
        caller_alias=alias_of(callers[-1]) if callers else "",
        sub_tasks=subs,
        interactive=task.interactive,
        only_user_quits_root=task.only_user_quits_root,
        erase_substeps=task.erase_substeps,
        allow_null_result=task.allow_null_result,
        max_stalled_steps=task.max_stalled_steps,
        turns=task.turns,
        restart=task.restart,
        restart_as_subtask=restart_as_subtask,
        default_human_response=task.default_human_response,
        done_if_response=frozenset(entity.value for entity in task.done_if_response),
        done_if_no_response=frozenset(entity.value for entity in task.done_if_no_response),
        done_if_tool=config.done_if_tool,
        sequences=tuple(compile_sequence(text) for text in config.done_sequences or ()),
        addressing_prefix=config.addressing_prefix,
        recognize_string_signals=config.recognize_string_signals,
        allow_subtask_multi_oai_tools=config.allow_subtask_multi_oai_tools,
        inf_loop_cycle_len=config.inf_loop_cycle_len,
        inf_loop_dominance_factor=config.inf_loop_dominance_factor,
        inf_loop_wait_factor=config.inf_loop_wait_factor,
    )
