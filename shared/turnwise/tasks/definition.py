"""The parts of a task: its agent, its settings, its sub-tasks."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from turnwise.agents.attributes.holder import Holder
from turnwise.agents.chat_agent import ChatAgent
from turnwise.errors import ConfigurationError, UnknownArgumentError
from turnwise.machine.sequences import compile_sequence
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.tasks.callbacks import TaskCallbacks
from turnwise.tasks.config import TaskConfig
from turnwise.tasks.kill_switch import KillSwitch
from turnwise.tasks.tree import TaskTree, build_tree

if TYPE_CHECKING:
    from turnwise.tasks.task import Task

# What `run` returns.
R = TypeVar("R", default=ChatDocument)


# Types of attributes of which each clone of a task has a copy.
_DATA = (list, dict, set, bytearray, deque, Counter, defaultdict, OrderedDict)


def _copied(value: Any) -> Any:
    """A copy of lists, dicts and sets, and of those in them; all else is shared."""
    if isinstance(value, dict):
        made = copy.copy(value)
        for key, item in value.items():
            made[key] = _copied(item)
        return made
    if type(value) in (list, deque):
        made = copy.copy(value)
        for index, item in enumerate(value):
            made[index] = _copied(item)
        return made
    return copy.copy(value) if isinstance(value, (set, bytearray)) else value


class TaskDefinition(Holder, Generic[R]):
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
            raise ConfigurationError(f"a task needs a ChatAgent; got {type(agent).__name__} as its agent")
        if not isinstance(name, str | None):
            raise ConfigurationError(f"a task's name is a text; got {name!r} ({type(name).__name__})")
        self.agent = agent if agent is not None else ChatAgent()
        self.name = name or self.agent.config.name
        if Entity.named(self.name) is not None or "/" in self.name:
            raise ConfigurationError(
                f"a task cannot be named {self.name!r}: that is an entity's name, or holds a slash; choose another"
            )
        if self.name != self.name.strip():
            raise ConfigurationError(
                f"a task cannot be named {self.name!r}, a name that begins or ends with a blank: it could not be "
                "addressed; leave the blank out"
            )
        # The name of the task that this one is a clone of, by which prompts and sub-tasks still address it.
        self._cloned_from = ""
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
        self._kill_switch = KillSwitch()
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

        Of a configuration given with a task, `restart_as_subtask` counts. Raises `ConfigurationError` for what is no
        task, and if the name is taken.
        """
        with_config = isinstance(task, tuple) and len(task) == 2 and isinstance(task[1], TaskConfig)
        if isinstance(task, list | tuple) and not with_config:
            for item in task:
                self.add_sub_task(item)
            return
        sub: Any
        sub, config = task if with_config else (task, getattr(task, "config", None))  # type: ignore[misc]
        if not isinstance(sub, TaskDefinition) or not isinstance(config, TaskConfig):
            raise ConfigurationError(
                f"{self!r} is given the sub-task {sub!r}; expected a Task, or a pair of a Task and a TaskConfig"
            )
        if any(sub.name == other.name for other in self.sub_tasks):
            raise ConfigurationError(f"{self!r} has a sub-task named {sub.name!r} already; give each a name of its own")
        self.sub_tasks.append(sub)  # type: ignore[arg-type]  # there is no other kind of definition
        self._restart_as_subtask.append(config.restart_as_subtask)

    def sub_task_entries(self) -> list[tuple[Task[Any], bool]]:
        """Return each sub-task, and whether it begins afresh at each call."""
        return list(zip(self.sub_tasks, self._restart_as_subtask, strict=True))

    def sub_task_named(self, name: str) -> Task[Any] | None:
        """The direct sub-task of that name."""
        return next((sub for sub in self.sub_tasks if sub.name == name), None)

    def clone(self, i: int) -> Self:
        """A copy that can run beside this one: named `<name>-<i>`, with an agent of its own and an empty history.

        The agent keeps its tools and messages (see `ChatAgent.clone`). Sub-tasks are cloned too. They and all agents
        keep their names, by which they are addressed; the clone itself is addressed by its original's name as well as
        by its own. Tasks that share an agent share its clone. Lists, dicts and sets that a program keeps on the task
        are copied, also those in them; other objects are shared. Conversations that are held at the same time need a
        clone each: see `Task.run`.
        """
        other = self._cloned(f"{self.name}-{i}", i, {})
        other._cloned_from = self._cloned_from or self.name
        return other

    def _cloned(self, name: str, i: int, agents: dict[int, ChatAgent]) -> Self:
        key = id(self.agent)
        if key not in agents:
            agents[key] = self.agent.clone(i)
            agents[key].config.name = self.agent.config.name
        other = copy.copy(self)
        for attribute, value in vars(self).items():
            # What a program keeps: data of its own for each clone, not clients, agents and the like.
            if type(value) in _DATA and attribute not in self.unsaved:
                setattr(other, attribute, _copied(value))
        other.name = name
        other.agent = agents[key]
        other.callbacks = copy.copy(self.callbacks)
        other.sub_tasks = [sub._cloned(sub.name, i, agents) for sub in self.sub_tasks]
        other._restart_as_subtask = list(self._restart_as_subtask)
        other._kill_switch = KillSwitch()
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
        """Return this task with all below it, as values; raises `ApplicationError` if it contains itself."""
        return build_tree(self)  # type: ignore[arg-type]  # a definition is always that of a Task


def _entities(given: Sequence[Entity | str]) -> list[Entity]:
    entities = []
    for item in given:
        entity = Entity.named(str(item.value if isinstance(item, Entity) else item))
        if entity is None:
            raise ConfigurationError(f"{item!r} is not an entity; expected LLM, Agent or User")
        entities.append(entity)
    return entities


def _refusing(init: Callable[..., None]) -> Callable[..., None]:
    """`init`, which explains why it does not take an unknown argument."""
    names = list(signature(init).parameters)[1:]

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        for name in named:
            if name not in names:
                raise UnknownArgumentError(f"Task has no argument {name!r}; {_advice(name, names)}")
        init(self, *given, **named)

    return checked


def _advice(name: str, names: list[str]) -> str:
    if name in TaskConfig.model_fields:
        return f"it is a setting: Task(config=TaskConfig({name}=...))"
    near = get_close_matches(name, [*names, *TaskConfig.model_fields], n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of: {', '.join(names)}"


# Type checkers see the signature itself, and report unknown arguments on their own.
if not TYPE_CHECKING:
    TaskDefinition.__init__ = _refusing(TaskDefinition.__init__)
