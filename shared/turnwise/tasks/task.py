"""A task: a conversation loop around an agent, its human, and sub-tasks."""

from __future__ import annotations

import copy
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from turnwise.agents.human.terminal import left
from turnwise.base.cancellation import Cancellation, Cause, current_cancellation
from turnwise.base.contextual import Bound
from turnwise.base.sync_async import Steps, run_async, run_sync
from turnwise.errors import InfiniteLoopException
from turnwise.machine.actions import Finish
from turnwise.machine.loops import loop_message
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.return_value import value_of_type
from turnwise.messages.stop_reason import StopReason
from turnwise.observability.display import current_settings
from turnwise.tasks.agents_in_use import agents_in_use
from turnwise.tasks.definition import R
from turnwise.tasks.entry import first_message
from turnwise.tasks.human_left import without_leaving
from turnwise.tasks.kill_switch import sessions
from turnwise.tasks.limit_check import check_limit, check_turns
from turnwise.tasks.local_log import local_log
from turnwise.tasks.local_run import LocalRun
from turnwise.tasks.observed import ended, running, tell_stopped
from turnwise.tasks.overrides import TaskOverrides
from turnwise.tasks.rules import TaskRules
from turnwise.tasks.stepping import Stepping
from turnwise.tasks.tree import alias_of
from turnwise.transcripts.current import writing

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

T = TypeVar("T")


class Task(TaskRules[R]):
    """A conversation that continues until it is done; see `Task.run`.

    - `agent`: whose entities answer (default: a plain ChatAgent); `name`: default the agent's.
    - `system_message`, `user_message`: override the agent's.
    - `restart`: begin each run with an empty history; with False a conversation continues across runs.
    - `single_round`: end after one step, or two with `llm_delegate`.
    - `interactive`: ask the human after each answer; `default_human_response` answers in his place.
    - `only_user_quits_root`: only the human can end an interactive root.
    - `done_if_response`, `done_if_no_response`: entities whose answer, or silence, ends the task.
    - `max_stalled_steps`: end after so many steps without an answer; `allow_null_result`: continue with DO-NOT-KNOW
      instead of an empty step.
    - `erase_substeps`: at the end, drop what lay between question and result from the history.
    - `default_return_type`: what `run` returns in place of a `ChatDocument`, as with `task[T]`.
    - `config`: what is needed less often, see `TaskConfig`.

    `done`, `valid` and `result` may be overridden. Raises `ConfigurationError` for a name that cannot be one,
    `ValueError` for a bad done-sequence.
    """

    _stepped: Stepping | None = None
    #: The limit that ended the last `run` of this task; None if it ended by itself, was killed, or raised.
    stop_reason: StopReason | None = None

    def __getitem__(self, return_type: type[T]) -> Task[T]:
        """Return this task (the same agent, the same sub-tasks), whose `run` returns a `return_type` or None."""
        other: Task[Any] = copy.copy(self)
        other.default_return_type = return_type
        return other

    # --- running -----------------------------------------------------------------------------------------------

    @overload
    def run(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        return_type: None = None,
        max_time: float = 0,
    ) -> R | None: ...

    @overload
    def run(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        *,
        return_type: type[T],
        max_time: float = 0,
    ) -> T | None: ...

    def run(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        return_type: Any = None,
        max_time: float = 0,
    ) -> Any:
        """Hold the conversation that begins with `msg`, and return its result.

        `msg`: None (the model begins, or the last conversation continues), a text, a `ChatDocument`, a tool, or any
        value. `turns` bounds the steps of this task, `max_cost` (USD) and `max_tokens` the whole tree, `max_time` (s)
        all of it, and cancels the call that is made then; 0 (-1 for turns) is no bound. A model call that could go
        over a limit is not made, by an estimate of its prompt and an answer as long as it may be. `session_id` is a
        name under which `kill_session` finds the run. `caller` makes it run as that task's sub-task would;
        `allow_restart=False` continues with the histories as they are. Returns a `ChatDocument`, a value of
        `return_type`, or None if there is no result. Where a limit ended the run, its result is what was said last, and
        `stop_reason` says so; so does the log. Errors of handlers and models propagate; raises
        `InfiniteLoopException`, and `ValueError` for a limit that is not a number of at least 0.

        Raises `ConfigurationError` while another run uses one of the task's agents, unless that run is around this
        call, as it is for a handler: conversations at the same time need a `clone` each.
        """
        steps = self._running(msg, turns, caller, max_cost, max_tokens, max_time, session_id, allow_restart)
        return self._returned(run_sync(steps), return_type)

    @overload
    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        return_type: None = None,
        max_time: float = 0,
    ) -> R | None: ...

    @overload
    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        *,
        return_type: type[T],
        max_time: float = 0,
    ) -> T | None: ...

    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        session_id: str = "",
        allow_restart: bool = True,
        return_type: Any = None,
        max_time: float = 0,
    ) -> Any:
        """The same as `run`, awaiting models, and handlers that have an async twin.

        Other coroutines run after at most five answers, even if no call waits for anything.
        """
        steps = self._running(msg, turns, caller, max_cost, max_tokens, max_time, session_id, allow_restart)
        return self._returned(await run_async(steps), return_type)

    def kill(self) -> None:
        """End the run that this task is part of, with KILL; may be called from any thread.

        A model's call, an async handler or a pause that it is in is cancelled. A synchronous handler cannot be: it may
        look at `cancelled()`. A run of `task[T]` is one of this task.
        """
        self._kill_switch.cancellation.cancel(Cause.KILLED)

    @classmethod
    def kill_session(cls, session_id: str = "") -> None:
        """End every run of this process that was given the session id, as `kill` does; an empty id ends nothing."""
        sessions.kill(session_id)

    def _running(
        self,
        msg: Any,
        turns: int,
        caller: Task[Any] | None,
        max_cost: Decimal | float,
        max_tokens: int,
        max_time: float,
        session_id: str,
        allow_restart: bool,
    ) -> Steps[ChatDocument | None]:
        if isinstance(msg, ChatDocument) and msg.metadata.recipient not in ("", self.name, alias_of(self)):
            return None
        check_turns(turns)
        run = self._prepared(caller, max_cost, max_tokens, max_time, allow_restart)
        with agents_in_use.hold(run.tree, run.cancellation):
            self._begin(run, session_id)
            self.stop_reason = None
            run.log = local_log(self)
            message = first_message(msg, self.agent, afresh=run.afresh, caller=caller is not None)
            with running(self.name, session_id) as spot, Bound(left, False):
                move = yield from run.drive(message, turns, said_before=msg is None)
                human_left = left.get()
                finish = move.action
                assert isinstance(finish, Finish)
                ended(spot, finish, run.purse.used)
            self.stop_reason = run.stop_reason(finish, turns)
            if self.stop_reason is not None:
                tell_stopped(self.name, self.stop_reason)
            self._view = (run.tree.root, move.state, run.facts())
            if finish.status is StatusCode.INF_LOOP:
                raise InfiniteLoopException(loop_message(finish.path, finish.loop))
            if human_left and finish.result is not None:
                return without_leaving(finish.result, run.tree.root, move.state, run.facts())
            return finish.result

    def _prepared(
        self,
        caller: Task[Any] | None = None,
        max_cost: Decimal | float = 0,
        max_tokens: int = 0,
        max_time: float = 0,
        allow_restart: bool = True,
    ) -> LocalRun:
        """Return a run that has changed nothing yet, as it may be refused."""
        check_limit("max_cost", max_cost, int | float | Decimal)
        check_limit("max_tokens", max_tokens, int)
        check_limit("max_time", max_time, int | float)
        tree = self.tree()
        if caller is not None:
            entries = {id(sub): afresh for sub, afresh in caller.sub_task_entries()}
            afresh = entries.get(id(self), self.config.restart_as_subtask)
            tree.root = replace(tree.root, restart_as_subtask=afresh, caller_alias=alias_of(caller))
        if not allow_restart:
            tree.root = replace(tree.root, restart=False, restart_as_subtask=False)
        # A run that another's handler begins ends with that one.
        parent = caller._kill_switch.cancellation if caller is not None else current_cancellation()
        cancellation = Cancellation(parent=parent, seconds=max_time if max_time > 0 else None)
        return LocalRun(
            tree=tree,
            overrides=TaskOverrides(tree.tasks, Task) or None,
            caller=caller.name if caller is not None else None,
            max_turns=max(0, current_settings().max_turns),
            max_cost=Decimal(str(max_cost)),
            max_tokens=max_tokens,
            max_time=max_time,
            cancellation=cancellation,
            own_logs=frozenset(
                path
                for path, task in tree.tasks.items()
                if getattr(task.log_message, "__func__", None) is not Task.log_message
            ),
        )

    def _begin(self, run: LocalRun, session_id: str = "") -> None:
        """Let the run be ended from outside, by each of its tasks and by its session."""
        sessions.add(session_id, run.cancellation)
        for task in run.tree.tasks.values():
            task._kill_switch.cancellation = run.cancellation

    def _returned(self, result: ChatDocument | None, return_type: Any) -> Any:
        wanted = return_type if return_type is not None else self.default_return_type
        if result is None or wanted is None or wanted is ChatDocument:
            return result
        return value_of_type(result, wanted)

    def _cloned(self, name: str, i: int, agents: dict[int, ChatAgent]) -> Self:
        other = super()._cloned(name, i, agents)
        other._stepped = other._view = other.stop_reason = None
        return other

    # --- step by step ------------------------------------------------------------------------------------------

    def init(self, msg: Any = None) -> ChatDocument | None:
        """Begin a conversation that is gone through with `step`; returns the first pending message.

        `msg` is what `run` takes. Histories continue as they are: see `reset_all_sub_tasks`.
        """
        run = self._prepared(allow_restart=False)
        self._begin(run)
        self._stepped = Stepping(run, first_message(msg, self.agent, afresh=False), said_before=msg is None)
        self._view = self._stepped.view
        return self.pending_message

    def step(self, turns: int = -1) -> ChatDocument | None:
        """Take one turn: ask the responders in order until one gives a valid answer; returns what is pending then.

        `turns` bounds the steps of a sub-task that is asked and has no bound of its own. Whether the task is over is
        for the caller to ask (`done`), and so are limits and loops. Begins with `init()` if no one did.
        """
        return run_sync(self._stepping(turns))

    async def step_async(self, turns: int = -1) -> ChatDocument | None:
        """The same as `step`, awaiting models and handlers."""
        return await run_async(self._stepping(turns))

    def response(self, e: Entity | Task[Any] | str, turns: int = -1) -> ChatDocument | None:
        """Return what one responder answers to the pending message, with signals in its text followed; it is not taken.

        `e` is an entity, a sub-task, or the name of either; `turns` bounds a sub-task without a bound of its own.
        """
        return run_sync(self._responding(e, turns))

    async def response_async(self, e: Entity | Task[Any] | str, turns: int = -1) -> ChatDocument | None:
        """The same as `response`, awaiting models and handlers."""
        return await run_async(self._responding(e, turns))

    def _stepping(self, turns: int) -> Steps[ChatDocument | None]:
        stepping = self._begun_stepping()
        pending = yield from stepping.step(turns)
        self._view = stepping.view
        return pending

    def _responding(self, e: Entity | Task[Any] | str, turns: int) -> Steps[ChatDocument | None]:
        stepping = self._begun_stepping()
        answer = yield from stepping.ask(e.name if isinstance(e, Task) else str(e), turns)
        self._view = stepping.view
        return answer

    def _begun_stepping(self) -> Stepping:
        if self._stepped is None:
            self.init()
        assert self._stepped is not None
        return self._stepped

    def log_message(self, resp: Entity | Task[Any], msg: ChatDocument | None = None, mark: bool = False) -> None:
        """Write down a message that was tried; `mark` says that it was taken.

        Called for each, whether or not a log is kept. Override it to watch a run, or to log something else: what
        `super().log_message` is given is what the log says. Outside a run it does nothing.
        """
        write = writing.get()
        if write is not None and msg is not None:
            write(resp.value if isinstance(resp, Entity) else resp.name, msg, mark)


Task._of_library = frozenset(Task.__mro__)
