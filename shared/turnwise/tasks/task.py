"""A task: a conversation loop around an agent, its human, and sub-tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from turnwise.agents.chat_agent import ChatAgent
from turnwise.core.actions import Finish
from turnwise.core.done import answer_valid, task_done
from turnwise.core.facts import Facts
from turnwise.core.loops import loop_message
from turnwise.core.result import task_result
from turnwise.core.sequences import compile_sequence
from turnwise.core.spec import TaskSpec
from turnwise.core.state import TaskState
from turnwise.display import current_settings
from turnwise.effects import run_async, run_sync
from turnwise.entity import Entity, StatusCode
from turnwise.errors import ConfigurationError, InfiniteLoopException
from turnwise.messages.document import ChatDocument
from turnwise.tasks.config import TaskConfig
from turnwise.tasks.entry import first_message
from turnwise.tasks.local_run import LocalRun
from turnwise.tasks.overrides import TaskOverrides
from turnwise.tasks.return_value import value_of_type
from turnwise.tasks.tree import TaskTree, build_tree


class Task:
    """A conversation that goes on until it is done; see `Task.run`.

    Arguments: `agent` (default: a plain ChatAgent); `name` (default: the agent's); `single_round` ends it after one
    step (two with `llm_delegate`); `system_message` and `user_message` override the agent's; `restart` begins each
    run with an empty history; `default_human_response` answers in the human's place; `default_return_type` is what
    `run` returns; `interactive` asks the human after each answer; `only_user_quits_root` lets only the human end an
    interactive root; `erase_substeps` drops what lay between question and result from the history;
    `allow_null_result` goes on with DO-NOT-KNOW when nobody answers; `max_stalled_steps` ends it after so many steps
    without an answer; `done_if_no_response` and `done_if_response` list entities whose silence or answer ends it.

    `done`, `valid` and `result` may be overridden. Raises `ConfigurationError` for a name that is taken, `ValueError`
    for a bad done-sequence.
    """

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
        default_return_type: Any = None,
        done_if_no_response: Sequence[Entity | str] = (),
        done_if_response: Sequence[Entity | str] = (),
        config: TaskConfig | None = None,
    ) -> None:
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
        self.default_return_type = default_return_type
        self.done_if_no_response = _entities(done_if_no_response)
        self.done_if_response = _entities(done_if_response)
        self.sub_tasks: list[Task] = []
        self._restart_as_subtask: list[bool] = []
        self._killed = threading.Event()
        self._view: tuple[TaskSpec, TaskState, Facts] | None = None
        if restart:
            self.agent.init_state()
        if system_message:
            self.agent.set_system_message(system_message)
        if user_message:
            self.agent.set_user_message(user_message)

    def __repr__(self) -> str:
        return f"Task({self.name!r})"

    # --- the tree ----------------------------------------------------------------------------------------------

    def add_sub_task(
        self, task: Task | list[Task] | tuple[Task, TaskConfig] | list[tuple[Task, TaskConfig]] | list[Any]
    ) -> None:
        """Add tasks that may answer when this task's own entities do not, or when they are addressed by name.

        Of a configuration given with a task, `restart_as_subtask` counts. Raises `ConfigurationError` if the name is
        taken.
        """
        if isinstance(task, list):
            for item in task:
                self.add_sub_task(item)
            return
        sub, config = task if isinstance(task, tuple) else (task, task.config)
        if any(sub.name == other.name for other in self.sub_tasks):
            raise ConfigurationError(f"{self!r} has a sub-task named {sub.name!r} already; give each a name of its own")
        self.sub_tasks.append(sub)
        self._restart_as_subtask.append(config.restart_as_subtask)

    def sub_task_entries(self) -> list[tuple[Task, bool]]:
        """Each sub-task, and whether it begins afresh at each call."""
        return list(zip(self.sub_tasks, self._restart_as_subtask, strict=True))

    def sub_task_named(self, name: str) -> Task | None:
        """The direct sub-task of that name."""
        return next((sub for sub in self.sub_tasks if sub.name == name), None)

    # --- running -----------------------------------------------------------------------------------------------

    def run(
        self,
        msg: Any = None,
        turns: int = -1,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        max_time: float = 0,
        allow_restart: bool = True,
        return_type: Any = None,
    ) -> Any:
        """Hold the conversation that begins with `msg`, and return its result.

        `msg`: None (the model begins, or the last conversation goes on), a text, a `ChatDocument`, a tool, or any
        value. `turns` bounds the steps of this task, `max_cost` (USD) and `max_tokens` the whole tree, `max_time` (s)
        all of it. Returns a `ChatDocument`, a value of `return_type`, or None if there is no result. Errors of
        handlers and models propagate; raises `InfiniteLoopException`.
        """
        started = self._begin(msg, max_cost, max_tokens, max_time, allow_restart)
        if started is None:
            return None
        run, message = started
        return self._end(run_sync(run.drive(message, turns)), return_type)

    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        max_time: float = 0,
        allow_restart: bool = True,
        return_type: Any = None,
    ) -> Any:
        """The same as `run`, awaiting models, and handlers that have an async twin."""
        started = self._begin(msg, max_cost, max_tokens, max_time, allow_restart)
        if started is None:
            return None
        run, message = started
        return self._end(await run_async(run.drive(message, turns)), return_type)

    def kill(self) -> None:
        """End the run that is going on, with KILL, before anybody else is asked."""
        self._killed.set()

    def _begin(
        self, msg: Any, max_cost: Decimal | float, max_tokens: int, max_time: float, allow_restart: bool
    ) -> tuple[LocalRun, ChatDocument | None] | None:
        if isinstance(msg, ChatDocument) and msg.metadata.recipient not in ("", self.name):
            return None
        tree = self.tree()
        self._killed.clear()
        if not allow_restart and tree.root.restart:
            tree.root = _not_restarting(tree.root)
        message = first_message(msg, self.agent, afresh=tree.root.restart)
        run = LocalRun(
            tree=tree,
            overrides=TaskOverrides(tree.tasks, Task) or None,
            max_turns=max(0, current_settings().max_turns),
            max_cost=Decimal(str(max_cost)),
            max_tokens=max_tokens,
            deadline=time.monotonic() + max_time if max_time > 0 else None,
            killed=self._killed.is_set,
        )
        return run, message

    def _end(self, finish: Finish, return_type: Any) -> Any:
        if finish.status is StatusCode.INF_LOOP:
            raise InfiniteLoopException(loop_message(finish.path, finish.loop))
        wanted = return_type if return_type is not None else self.default_return_type
        if finish.result is None or wanted is None or wanted is ChatDocument:
            return finish.result
        return value_of_type(finish.result, wanted)

    def tree(self) -> TaskTree:
        """This task with all below it, as values; raises `ApplicationError` if it contains itself."""
        return build_tree(self)

    # --- rules that may be overridden --------------------------------------------------------------------------

    @contextmanager
    def viewing(self, spec: TaskSpec, state: TaskState, facts: Facts) -> Iterator[None]:
        """Let `done`, `valid`, `result` and the properties below speak of this state."""
        before, self._view = self._view, (spec, state, facts)
        try:
            yield
        finally:
            self._view = before or self._view

    @property
    def pending_message(self) -> ChatDocument | None:
        """The message that waits for an answer, as far as an overridden rule has been asked about it."""
        return self._view[1].pending if self._view is not None else None

    @property
    def pending_sender(self) -> str:
        """Who sent the pending message: an entity's value or a sub-task's name."""
        return self._view[1].pending_sender if self._view is not None else ""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        """Whether the task would be done with the answer `result` of responder `r` (default: the pending message)."""
        spec, state, facts = self._seen()
        return task_done(spec, state, facts, result, r)

    def valid(self, result: ChatDocument | None, r: str) -> bool:
        """Whether the answer `result` of responder `r` counts."""
        spec, _, _ = self._seen()
        return (result is not None and self.done(result, r)[0]) or answer_valid(spec, result)

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        """What the task hands to its caller when it ends with `status`."""
        spec, state, facts = self._seen()
        return task_result(spec, state, facts, status or StatusCode.OK)

    def _seen(self) -> tuple[TaskSpec, TaskState, Facts]:
        if self._view is None:
            raise RuntimeError(f"{self!r} is not running: done, valid and result speak of a run's state")
        return self._view

    def log_message(self, resp: Entity | Task, msg: ChatDocument | None = None, mark: bool = False) -> None:
        """Told of each message that is tried; `mark` says that it was taken. Override it to watch a run."""


def _entities(given: Sequence[Entity | str]) -> list[Entity]:
    entities = []
    for item in given:
        entity = Entity.named(str(item.value if isinstance(item, Entity) else item))
        if entity is None:
            raise ConfigurationError(f"{item!r} is no entity; expected LLM, Agent or User")
        entities.append(entity)
    return entities


def _not_restarting(spec: TaskSpec) -> TaskSpec:
    from dataclasses import replace

    return replace(spec, restart=False)
