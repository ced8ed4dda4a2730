"""A task as a value: everything about it that does not change during a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from turnwise.machine.sequences import CompiledSequence


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskSpec:
    """One task of a tree.

    `path` is the names from the root, joined by "/"; `agent` the key of its agent (the path of the first task that
    holds it). `alias` is another name by which it is addressed, "" for none, and `caller_alias` that of its caller.
    `turns` is its own limit of steps, -1 for none. For the rest see `Task` and `TaskConfig`.
    """

    name: str
    path: str
    agent: str
    alias: str = ""
    caller_alias: str = ""
    sub_tasks: tuple[TaskSpec, ...] = ()
    interactive: bool = True
    only_user_quits_root: bool = True
    erase_substeps: bool = False
    allow_null_result: bool = False
    max_stalled_steps: int = 5
    turns: int = -1
    restart: bool = True
    restart_as_subtask: bool = False
    default_human_response: str | None = None
    done_if_response: frozenset[str] = frozenset()
    done_if_no_response: frozenset[str] = frozenset()
    done_if_tool: bool = False
    sequences: tuple[CompiledSequence, ...] = ()
    addressing_prefix: str = ""
    recognize_string_signals: bool = True
    allow_subtask_multi_oai_tools: bool = True
    inf_loop_cycle_len: int = 10
    inf_loop_dominance_factor: float = 1.5
    inf_loop_wait_factor: int = 5

    def sub_task(self, name: str) -> TaskSpec | None:
        """The direct sub-task of that exact name."""
        for sub in self.sub_tasks:
            if sub.name == name:
                return sub
        return None

    def at(self, path: str) -> TaskSpec:
        """The task of this tree at `path`; raises `KeyError` if there is none."""
        if path == self.path:
            return self
        for sub in self.sub_tasks:
            if path == sub.path or path.startswith(sub.path + "/"):
                return sub.at(path)
        raise KeyError(f"no task at {path!r} below {self.path!r}")

    def agents(self) -> tuple[str, ...]:
        """Keys of the agents of this task and of all below, each once."""
        keys = [self.agent]
        for sub in self.sub_tasks:
            keys.extend(sub.agents())
        return tuple(dict.fromkeys(keys))

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The texts that address someone in an answer of this task or of one below."""
        own = {self.addressing_prefix} if self.addressing_prefix and self.recognize_string_signals else ()
        return frozenset(own).union(*(sub.prefixes for sub in self.sub_tasks))
