"""What a task is made of: its agent, its settings, its sub-tasks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from turnwise.agents.chat_agent import ChatAgent
from turnwise.cancellation import Cancellation
from turnwise.core.sequences import compile_sequence
from turnwise.entity import Entity
from turnwise.errors import ConfigurationError
from turnwise.messages.document import ChatDocument
from turnwise.tasks.callbacks import TaskCallbacks
from turnwise.tasks.config import TaskConfig
from turnwise.tasks.tree import TaskTree, build_tree

if TYPE_CHECKING:
    from turnwise.tasks.task import Task

# What `run` returns.
R = TypeVar("R", default=ChatDocument)


class TaskDefinition(Generic[R]):
    """The part of a task that does not change while it runs."""

    def __init__(
        self,
        agent: ChatAgent | None = None,
        name: str = "",
        llm_delegate: bool = False,
        single_round: bool = False,
        system_message: str = "",
        user_message: str | None = "",
        restart: bool = True,
        default_human_response: str | None = None,
        interactive: bool = True,
        only_user_quits_root: bool = True,
        erase_substeps: bool = False,
        allow_null_result: bool = False,
        max_stalled_steps: int = 5,
        default_return_type: type[R] | None = None,
        done_if_no_response: Sequence[Entity | str] = (),
        done_if_response: Sequence[Entity | str] = (),
        config: TaskConfig | None = None,
    ) -> None:
        if agent is not None and not isinstance(agent, ChatAgent):
            raise ConfigurationError(f"a task is held around a ChatAgent; got {type(agent).__name__} as its agent")
        self.agent = agent if agent is not None else ChatAgent()
        self.name = name or self.agent.config.name
        if Entity.named(self.name) is not None or "/" in self.name:
            raise ConfigurationError(
                f"a task can not be named {self.name!r}: that is an entity's name, or holds a slash; choose another"
            )
        self.config = config if config is not None else TaskConfig()
        for sequence in self.config.done_sequences or ():
            compile_sequence(sequence)
        self.turns = (2 if llm_delegate else 1) if single_round else -1
        self.restart = restart
        self.default_human_response = default_human_response
        self.interactive = interactive
        self.only_user_quits_root = only_user_quits_root
        self.erase_substeps = erase_substeps
        self.allow_null_result = allow_null_result
        self.max_stalled_steps = max_stalled_steps
        self.default_return_type: Any = default_return_type
        self.done_if_no_response = _entities(done_if_no_response)
        self.done_if_response = _entities(done_if_response)
        self.callbacks = TaskCallbacks()
        self.color_log = True
        self.sub_tasks: list[Task[Any]] = []
        self._restart_as_subtask: list[bool] = []
        # Of the run that goes on, or was the last.
        self.cancellation = Cancellation()
        if restart:
            self.agent.init_state()
        if system_message:
            self.agent.set_system_message(system_message)
        if user_message:
            self.agent.set_user_message(user_message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def add_sub_task(
        self,
        task: Task[Any] | tuple[Task[Any], TaskConfig] | Sequence[Task[Any] | tuple[Task[Any], TaskConfig]],
    ) -> None:
        """Add tasks that may answer when this task's own entities do not, or when they are addressed by name.

        Of a configuration given with a task, `restart_as_subtask` counts. Raises `ConfigurationError` if the name is
        taken.
        """
        if isinstance(task, list):
            for item in task:
                self.add_sub_task(item)
            return
        sub, config = task if isinstance(task, tuple) else (task, task.config)  # type: ignore[union-attr]  # no list
        if any(sub.name == other.name for other in self.sub_tasks):
            raise ConfigurationError(f"{self!r} has a sub-task named {sub.name!r} already; give each a name of its own")
        self.sub_tasks.append(sub)
        self._restart_as_subtask.append(config.restart_as_subtask)

    def sub_task_entries(self) -> list[tuple[Task[Any], bool]]:
        """Each sub-task, and whether it begins afresh at each call."""
        return list(zip(self.sub_tasks, self._restart_as_subtask, strict=True))

    def sub_task_named(self, name: str) -> Task[Any] | None:
        """The direct sub-task of that name."""
        return next((sub for sub in self.sub_tasks if sub.name == name), None)

    def clone(self, i: int) -> Self:
        """A copy that can run beside this one: named `<name>-<i>`, with an agent of its own and an empty history.

        The agent keeps its tools and messages (see `ChatAgent.clone`). Sub-tasks are cloned too. They and all agents
        keep their names, by which they are addressed; tasks that share an agent share its clone.
        """
        return self._cloned(f"{self.name}-{i}", i, {})

    def _cloned(self, name: str, i: int, agents: dict[int, ChatAgent]) -> Self:
        key = id(self.agent)
        if key not in agents:
            agents[key] = self.agent.clone(i)
            agents[key].config.name = self.agent.config.name
        other = copy.copy(self)
        other.name = name
        other.agent = agents[key]
        other.callbacks = copy.copy(self.callbacks)
        other.sub_tasks = [sub._cloned(sub.name, i, agents) for sub in self.sub_tasks]
        other._restart_as_subtask = list(self._restart_as_subtask)
        other.cancellation = Cancellation()
        return other

    def reset_all_sub_tasks(self) -> None:
        """Begin the conversations of this task's agent, and of all below it, afresh."""
        self.agent.init_state()
        for sub in self.sub_tasks:
            sub.reset_all_sub_tasks()

    def set_color_log(self, enable: bool = True) -> None:
        """Write the `.log` file of this task's runs in colours (the default), or plain, which suits notebooks."""
        self.color_log = enable

    def tree(self) -> TaskTree:
        """This task with all below it, as values; raises `ApplicationError` if it contains itself."""
        return build_tree(self)  # type: ignore[arg-type]  # a definition is always that of a Task


def _entities(given: Sequence[Entity | str]) -> list[Entity]:
    entities = []
    for item in given:
        entity = Entity.named(str(item.value if isinstance(item, Entity) else item))
        if entity is None:
            raise ConfigurationError(f"{item!r} is no entity; expected LLM, Agent or User")
        entities.append(entity)
    return entities
