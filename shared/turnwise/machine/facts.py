"""Facts that only the driver knows, taken as a value when a move is made."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol

from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import StatusCode
from turnwise.messages.toolset import AgentFacts

if TYPE_CHECKING:
    from turnwise.machine.spec import TaskSpec
    from turnwise.machine.state import TaskState


class Overrides(Protocol):
    """An application's own `done`, `valid` and `result` of the tasks that override them."""

    def done(
        self, spec: TaskSpec, state: TaskState, facts: Facts, doc: ChatDocument | None, responder: str | None
    ) -> tuple[bool, StatusCode] | None: ...

    def valid(
        self, spec: TaskSpec, state: TaskState, facts: Facts, doc: ChatDocument | None, responder: str
    ) -> bool | None: ...

    def result(
        self, spec: TaskSpec, state: TaskState, facts: Facts, status: StatusCode
    ) -> tuple[ChatDocument | None] | None: ...


class Facts(NamedTuple):
    """The run and its agents.

    `cost` in USD and `tokens` count the whole tree of the run so far; a limit of 0 is none. `max_turns` bounds the
    steps of any task (0: no bound). `agent` gives the facts of an agent by key; `new_id` names the documents that the
    machine makes.
    """

    agent: Callable[[str], AgentFacts]
    new_id: Callable[[], str]
    cost: Decimal = Decimal(0)
    tokens: int = 0
    max_cost: Decimal = Decimal(0)
    max_tokens: int = 0
    max_turns: int = 0
    killed: bool = False
    out_of_time: bool = False
    overrides: Overrides | None = None
