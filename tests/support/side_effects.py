"""A clerk whose handlers act on an outside world, and a run of it whose process can be killed and replaced."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.kept_values import kept
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    MockLMConfig,
    RetryPolicy,
    Task,
    ToolMessage,
)
from turnwise.base.process_end import ProcessKilled
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Resolution
from turnwise.record.values.records import AskRecord, RunRecord
from turnwise.serving.attempts.served_calls import as_result
from turnwise.serving.moves.permits import permit


class Killed(ProcessKilled):
    """The process is gone: nothing of its code runs any more."""


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay <amount>."
    amount: int


class Book(Pay):
    request: str = "book"
    _effect = "idempotent"


class Look(Pay):
    request: str = "look"
    _effect = "read_only"


class Send(ToolMessage):
    request: str = "send"
    purpose: str = "To send <amount>, which takes too long."
    amount: int
    _timeout = 0.05


class Ship(Send):
    request: str = "ship"
    _effect = "idempotent"


class Insist(Send):
    request: str = "insist"
    _retry = RetryPolicy(tries=2, first_wait=0)


class Clerk(ChatAgent):
    """Writes down each call of a handler; `world.kill` says before or after which one it is killed."""

    class State(BaseModel):
        seen: list[str] = []

    world: World

    def pay(self, tool: Pay, idempotency_key: str) -> str:
        return self._called(tool, idempotency_key)

    def book(self, tool: Book, idempotency_key: str) -> str:
        return self._called(tool, idempotency_key)

    def look(self, tool: Look, idempotency_key: str) -> dict[str, int]:
        self._called(tool, idempotency_key)
        return {"seen": len(self.state.seen)}

    def _called(self, tool: Pay, key: str) -> str:
        name = f"{tool.request} {tool.amount}"
        self.state.seen.append(name)
        self.world.log.append((name, key))
        if error := self.world.errors.pop(name, None):
            raise error
        return f"{name} done"


class World:
    """The outside world: the log of effects, and the faults at each of them."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.errors: dict[str, BaseException] = {}

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.log]


def _text(*calls: str) -> str:
    return " ".join(f'{{"request": "{name}", "amount": {amount}}}' for name, amount in map(str.split, calls))


def results(*names: str) -> str:
    texts = {"look": '{"seen": 3}'}
    return "\n\n".join(f"Result from {name.split()[0]}: {texts.get(name, f'{name} done')}" for name in names)


class Case:
    """A task whose model calls `calls` once, and then says what it was told."""

    def __init__(self, store: Store, *calls: str, kind: type[Clerk] = Clerk, **config: Any) -> None:
        self.store = store
        self.world = World()
        self._calls, self._kind, self._config = calls, kind, config
        self.app = self._made()
        self.desk = Desk(store, self.app)
        with self.desk:
            self.run_id = self.desk.submit("clerk")

    def deploy(self, *known: type[ToolMessage]) -> None:
        """Go on from now on with an application whose agent knows these tools, too."""
        self.app = self._made(*known)

    def _made(self, *known: type[ToolMessage]) -> App:
        app = App("side-effects", version="1")

        @app.task
        def clerk() -> Task:
            def say(text: str) -> str:
                return _text(*self._calls) if text == "hello" else f"DONE {text}"

            config = ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=say), **self._config)
            agent = self._kind(config)
            agent.world = self.world
            agent.enable_message([Pay, Book, Look, Send, Ship, Insist])
            agent.enable_message(list(known), use=False, handle=False)
            return Task(agent, interactive=False)

        return app

    def go_on(self) -> RunRecord:
        """Go on with a fresh process, until the run ends or waits; one that is killed takes its lease with it."""
        self.store.coordinator.take_over_all()
        desk = Desk(self.store, self.app, beside=self.desk)
        desk.responders.start()
        for _ in range(20):
            moved = desk.coordinator.move(self.run_id)
            again = kept(moved.run.waiting_for).get("kind") == "retry"
            if moved.ask is None and not moved.run.ended and (moved.run.status == "running" or again):
                ask = self.awaited()
                desk.responders.answer(permit(ask))
            elif moved.ask is None or not desk.answer(moved):
                break
        desk.responders.stop()
        return self.store.inspector.run(self.run_id)

    def killed(self) -> None:
        """Go on with a process that is killed."""
        with pytest.raises(Killed):
            self.go_on()

    def parked(self) -> AskRecord:
        [ask] = self.store.tenant(DEFAULT_TENANT).parked_asks()
        return ask

    def resolve(self, outcome: Any, result: Any = None) -> RunRecord:
        """Let a person decide, and go on."""
        resolution = Resolution(outcome=outcome, result=as_result(result))
        self.store.tenant(DEFAULT_TENANT).resolve(self.run_id, self.parked().id, resolution)
        return self.go_on()

    def out_of_time(self) -> None:
        """Let the run's deadline pass, and go on."""
        with self.store.coordinator.locked(self.run_id) as transaction:
            transaction.amend(deadline_at=transaction.now)
        assert self.go_on().status_code == "TIMEOUT"

    def said(self) -> str:
        """The text of the run's result."""
        result = self.store.inspector.run(self.run_id).result
        assert result is not None, self.store.inspector.run(self.run_id)
        return str(result["content"])

    def state(self) -> list[str]:
        """Return what the agent's state has seen, on record."""
        with self.store.coordinator.locked(self.run_id) as transaction:
            return list((transaction.agent("clerk").state or {})["seen"])

    def awaited(self) -> AskRecord:
        with self.store.coordinator.locked(self.run_id) as transaction:
            ask = transaction.open_ask()
        assert ask is not None
        return ask
