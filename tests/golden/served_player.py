"""Plays a scenario as served runs: over a real record, each answer by one of two 'processes' that share nothing else.

Everything happens in one thread, without bus and HTTP. What the run did is read from its events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from turnwise import App, ChatDocument, Task
from turnwise.agents.kept_state import AgentMemory
from turnwise.base.ids import new_id
from turnwise.bus.envelope import AskEnvelope
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import AskRecord, Claim, NewDocument, NewRun, RunRecord
from turnwise.serving.attempts.answering import Answering
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.tasks.entry import document_of
from turnwise_gateway.views import event_view, fresh, run_view

from . import model
from .events import observed_run
from .observer import Observer
from .player import run_arguments
from .record import Observation, ObservedRun
from .script import ScriptedHuman
from .team import Team
from .world import Watched, World

_TASK = "scenario"
# More events than any scenario has; reads of events are bounded.
_ALL = 100_000


@dataclass(frozen=True)
class Everything:
    """A worker that takes every next ask."""

    worker_id: str

    def takes(self, tx: RunTransaction, queue: str) -> bool:
        return True


class ServedPlayer:
    """Plays one scenario after the other over `store`.

    `carried`: who has written a reply makes the next move in the same transaction, and holds the next ask at once.
    """

    def __init__(self, store: Store, *, carried: bool) -> None:
        self._store = store
        self._carried = carried
        self._worker = store.process.register_worker(
            WorkerInfo(kind="responders", queues=("llm", "agent"), host="here", pid=1, version="1")
        )

    def play(self, scenario: model.Scenario) -> Observation:
        """Build the scenario's team in each 'process' and make its runs."""
        world, observer = World(ScriptedHuman(scenario.human)), Observer()
        install = _Installation(self._store, self._worker, scenario, observer, world, self._carried)
        runs, calls_before = [], None
        for call in scenario.runs:
            runs.append(install.run(call))
            if runs[-1].forgotten and calls_before is None:
                calls_before = {name: len(prompts) for name, prompts in observer.prompts.items()}
        return Observation(
            runs=tuple(runs),
            llm_calls={name: script.calls for name, script in world.models.items() if script.calls},
            human_asked=world.human.asked,
            llm_inputs={name: tuple(prompts) for name, prompts in observer.prompts.items() if prompts},
            calls_before=calls_before,
        )


@dataclass(frozen=True, kw_only=True)
class _Process:
    """The memory of one process: its own agents, its own histories."""

    team: Team
    app: App
    answering: Answering
    mover: Mover


class _Installation:
    """A coordinator and two workers, none of which has anything of the others but the record."""

    def __init__(
        self,
        store: Store,
        worker: str,
        scenario: model.Scenario,
        observer: Observer,
        world: World,
        carried: bool,
    ) -> None:
        self._store, self._worker = store, worker
        self._scenario, self._world = scenario, world
        self._carried = carried
        # A version of its own keeps what an ill-fated scenario leaves behind from the claims of others.
        self._version = new_id("version")
        # A later run finds the agents as the one before left them, as it does in one process.
        self._session = new_id("session")
        self._coordinator, *self._workers = (self._process(observer) for _ in range(3))

    def run(self, call: model.RunCall) -> ObservedRun:
        arguments = run_arguments(self._coordinator.team, call)
        root = self._coordinator.team.root
        given = arguments["msg"]
        if isinstance(given, ChatDocument) and given.metadata.recipient not in ("", root.name):
            return ObservedRun(taken=(), ends=())
        run, _ = self._store.tenant(DEFAULT_TENANT).submit(
            NewRun(
                id=new_id("run"),
                task=_TASK,
                version=self._version,
                session_id=self._session,
                message=encode_document(document_of(given)) if given is not None else {},
                turns=arguments.get("turns"),
                max_turns=self._scenario.turn_limit,
            )
        )
        self._drive(run.id)
        return self._observed(
            self._store.inspector.run(run.id), arguments.get("return_type") or root.default_return_type
        )

    def _process(self, observer: Observer) -> _Process:
        app = App("golden", self._version)
        team = Team(self._scenario, Watched(self._world, observer))

        @app.task(name=_TASK)
        def scenario() -> Task:
            return team.root

        return _Process(
            team=team,
            app=app,
            answering=Answering(self._store.worker, app),
            mover=Mover(app=app, llm_queues={}, agent_queues={}),
        )

    def _drive(self, run_id: str) -> None:
        answers = 0
        moved = self._move(run_id)
        while not moved.run.ended:
            if moved.ask is not None:
                moved = self._answer(self._claim(moved.ask), self._workers[answers % len(self._workers)])
                answers += 1
            elif moved.claim is not None:
                moved = self._answer(moved.claim, self._workers[answers % len(self._workers)])
            else:
                self._answer_as_human(run_id)
                moved = self._move(run_id)

    def _move(self, run_id: str) -> Moved:
        with self._store.coordinator.locked(run_id) as transaction:
            return self._coordinator.mover.move(transaction)

    def _claim(self, asked: AskEnvelope) -> Claim:
        claim = self._store.worker.claim(asked.queue, self._worker, self._version)
        assert claim is not None, f"nobody could claim {asked.ask}"
        assert claim.ask.id == asked.ask
        return claim

    def _answer(self, claim: Claim, process: _Process) -> Moved:
        reply = process.answering.answer(claim)
        assert isinstance(reply, Reply), f"{claim.ask.id} was deferred"
        moves: list[Moved] = []

        def then(transaction: RunTransaction) -> None:
            moves.append(process.mover.move(transaction, carrier=Everything(self._worker)))

        assert self._store.worker.reply(claim, reply, then if self._carried else None)
        process.answering.accepted(claim, reply)
        return moves[0] if moves else self._move(claim.run.id)

    def _answer_as_human(self, run_id: str) -> None:
        asked, calls, question = self._question(run_id)
        default = self._coordinator.app.tree(_TASK).root.at(asked.path).default_human_response
        said = human_answer(self._world.human.answer(), question, default=default, open_calls=calls)
        document = NewDocument(id=said.metadata.id, body=encode_document(said)) if said is not None else None
        self._store.tenant(DEFAULT_TENANT).answer(run_id, document, asked.id)

    def _question(self, run_id: str) -> tuple[AskRecord, list[Any], ChatDocument | None]:
        with self._store.coordinator.locked(run_id) as transaction:
            asked = transaction.open_ask()
            assert asked is not None
            assert asked.responder == "user"
            agent = AgentMemory.model_validate(transaction.agent(asked.agent).record or {})
        body = self._store.inspector.document(run_id, asked.message_id) if asked.message_id else None
        return asked, agent.open_calls, self._decoded(body) if body else None

    def _decoded(self, body: dict[str, Any]) -> ChatDocument:
        return decode_document(body, self._coordinator.app.tree(_TASK).registry())

    def _observed(self, run: RunRecord, return_type: Any) -> ObservedRun:
        events = self._store.inspector.events(run.id, limit=_ALL)
        assert [event.seq for event in events] == list(range(1, run.last_seq + 1))
        shown = [event_view(event).model_dump(mode="json") for event in events]
        tree = self._coordinator.app.tree(_TASK)
        return observed_run(tree, shown, run_view(fresh(run)).model_dump(mode="json"), return_type)
