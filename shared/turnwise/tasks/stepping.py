"""A run that is gone through step by step, by a program that decides itself when it is over."""

from __future__ import annotations

from turnwise.base.sync_async import AWAITED, Steps
from turnwise.errors import ConfigurationError, InfiniteLoopException
from turnwise.machine import machine, stack
from turnwise.machine.actions import Ask, Finish, Proceed
from turnwise.machine.facts import Facts
from turnwise.machine.loops import loop_message
from turnwise.machine.spec import TaskSpec
from turnwise.machine.stack import Frame, StackMove
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity, StatusCode
from turnwise.tasks.local_run import LocalRun


class Stepping:
    """Stands between two steps of the root of `run`; begins with the message that waits for an answer.

    `said_before`: the message is the last one of the root's history.
    """

    def __init__(self, run: LocalRun, message: ChatDocument | None, *, said_before: bool = False) -> None:
        self._run = run
        self._root = run.tree.root
        self._move: StackMove = stack.start(self._root, message, run.facts(), stepwise=True, said_before=said_before)

    @property
    def view(self) -> tuple[TaskSpec, TaskState, Facts]:
        """Return where the root is."""
        return self._root, self._move.state, self._run.facts()

    def step(self, sub_turns: int) -> Steps[ChatDocument | None]:
        """Take one step; returns what is pending then. A root that was killed or refused stays where it is."""
        run, move = self._run, self._move
        if not isinstance(move.action, Finish):
            facts = run.facts()
            move = stack.receive(
                self._root, move.stack, Proceed(), facts, last_frame=move.last_frame, sub_turns=sub_turns
            )
            self._move = yield from run.carry(self._root, move, sub_turns)
            _no_loop(self._move)
        return self._move.state.pending

    def ask(self, responder: str, sub_turns: int) -> Steps[ChatDocument | None]:
        """Return what one responder answers, with signals followed. Raises `ConfigurationError` for an unknown one."""
        state = self._move.state
        entity = Entity.named(responder)
        if entity is Entity.USER and self._root.default_human_response is not None:
            responder = entity.value
            document = machine.default_reply(self._root, state, self._run.facts())
        elif entity is not None and entity is not Entity.SYSTEM:
            responder = entity.value
            ask = Ask(self._root.path, responder, state.pending, turn=state.turn, candidate=0)
            self._run.awaited = yield AWAITED
            value = yield from self._run.asking(ask)
            document = self._run.received(ask, value)
        else:
            document = yield from self._sub_task(responder, state, sub_turns)
        document, state = machine.follow(self._root, state, responder, document, self._run.facts())
        if self._move.stack:
            frame = Frame(self._move.stack[0].no, self._root.path, state)
            self._move = self._move._replace(stack=(frame,), state=state)
        return document

    def _sub_task(self, name: str, state: TaskState, sub_turns: int) -> Steps[ChatDocument | None]:
        sub = self._root.sub_task(name)
        if sub is None:
            known = ", ".join(["Agent", "LLM", "User", *(task.name for task in self._root.sub_tasks)])
            raise ConfigurationError(f"task {self._root.name!r} has no responder {name!r}; it has: {known}")
        facts = self._run.facts()
        message = stack.as_sub_task_sees(state.pending, facts) if state.pending is not None else None
        turns = sub.turns if sub.turns > 0 else sub_turns
        move = stack.start(sub, message, facts, caller=self._root.name, turns=turns)
        move = yield from self._run.carry(sub, move)
        _no_loop(move)
        assert isinstance(move.action, Finish)
        return stack.as_answer(self._root, state, move.action.result, self._run.facts())


def _no_loop(move: StackMove) -> None:
    if isinstance(move.action, Finish) and move.action.status is StatusCode.INF_LOOP:
        raise InfiniteLoopException(loop_message(move.action.path, move.action.loop))
