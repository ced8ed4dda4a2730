"""Plays a scenario as served runs over a real record: one desk moves, two others answer in turn.

The desks share nothing but the record; each has built the application for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.e2e.transcript import Transcript, from_events
from tests.rules.cast import Cast, Prompts
from tests.rules.outcome import Outcome, outcome, result_text, typed
from tests.rules.scenario import Scenario
from tests.support.served_parts import Desk

from turnwise import App, Task
from turnwise.agents.kept_state import AgentMemory
from turnwise.base.ids import new_id
from turnwise.messages.document import ChatDocument
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import AskRecord, EventRecord, NewDocument, NewRun
from turnwise.serving.moves.moved import Moved
from turnwise.tasks.entry import document_of

# Events of one run; reads of events are bounded.
_ALL = 100_000


def application(scenarios: Sequence[Scenario], prompts: dict[str, Prompts]) -> App:
    """Every scenario as a task of that name; what models are sent is written to `prompts`, by scenario."""
    app = App("rules")
    for each in scenarios:

        def build(scenario: Scenario = each) -> Task:
            return scenario.team(Cast(prompts.setdefault(scenario.id, {})))

        app.task(name=each.id)(build)
    return app


class ServedPlayer:
    """Plays one scenario after the other."""

    def __init__(self, store: Store, desks: list[Desk], prompts: dict[str, Prompts]) -> None:
        self._store = store
        self._moving, *self._answering = desks
        self._app = self._moving.app
        self._prompts = prompts

    def play(self, scenario: Scenario) -> Outcome:
        """All runs of the scenario, as one session."""
        self._prompts[scenario.id].clear()
        answers = iter(scenario.answers)
        session = new_id("session")
        played = [self._run(scenario, said, answers, session) for said in scenario.says]
        left = list(answers)
        assert not left, f"the human was never asked for {left}"
        return outcome(scenario, played, self._prompts[scenario.id])

    def _run(self, scenario: Scenario, said: Any, answers: Iterator[str], session: str) -> tuple[Transcript, str]:
        new = NewRun(
            id=new_id("run"),
            task=scenario.id,
            version=self._app.version,
            session_id=session,
            message=encode_document(document_of(said)) if said is not None else {},
            turns=scenario.turns,
            max_turns=scenario.max_turns,
            max_cost=scenario.max_cost,
            max_tokens=scenario.max_tokens,
            deadline=scenario.max_time,
        )
        self._store.tenant(DEFAULT_TENANT).submit(new)
        self._drive(new.id, answers)
        run = self._store.inspector.run(new.id)
        events = [self._event(event) for event in self._store.inspector.events(run.id, limit=_ALL)]
        view = {
            "result": {"document": run.result} if run.result is not None else None,
            "error": run.error.as_json() if run.error is not None else None,
            "status_code": run.status_code,
        }
        transcript = from_events(events, view)
        result = self._decoded(scenario.id, run.result) if run.result is not None else None
        wanted = scenario.return_type or self._app.tree(scenario.id).tasks[self._root(scenario)].default_return_type
        return transcript, result_text(transcript, typed(result, wanted), scenario)

    def _drive(self, run_id: str, answers: Iterator[str]) -> None:
        moved, turn = self._moving.coordinator.move(run_id), 0
        while not moved.run.ended:
            if moved.ask is None:
                self._answer_as_human(moved, answers)
            else:
                assert self._answering[turn % len(self._answering)].answer(moved)
                turn += 1
            moved = self._moving.coordinator.move(run_id)

    def _answer_as_human(self, moved: Moved, answers: Iterator[str]) -> None:
        run = moved.run
        asked, agent = self._question(run.id)
        body = self._store.inspector.document(run.id, asked.message_id) if asked.message_id else None
        question = self._decoded(run.task, body) if body else None
        default = self._app.tree(run.task).root.at(asked.path).default_human_response
        text = next(answers, None)
        assert text is not None, "the human was asked once more than the scenario has answers"
        said = human_answer(text, question, default=default, open_calls=agent.open_calls)
        document = NewDocument(id=said.metadata.id, body=encode_document(said)) if said is not None else None
        self._store.tenant(DEFAULT_TENANT).answer(run.id, document, asked.id)

    def _question(self, run_id: str) -> tuple[AskRecord, AgentMemory]:
        with self._store.coordinator.locked(run_id) as transaction:
            asked = transaction.open_ask()
            assert asked is not None, f"{run_id} waits for nobody"
            return asked, AgentMemory.model_validate(transaction.agent(asked.agent).record or {})

    def _decoded(self, task: str, body: dict[str, Any]) -> ChatDocument:
        return decode_document(body, self._app.tree(task).registry())

    def _root(self, scenario: Scenario) -> str:
        return self._app.tree(scenario.id).root.path

    def _event(self, event: EventRecord) -> dict[str, Any]:
        data = dict(event.data or {}, document=event.document)
        return {"type": event.type, "task": event.path, "turn": event.turn, "data": data}


@contextmanager
def serving(store: Store, scenarios: Sequence[Scenario]) -> Iterator[ServedPlayer]:
    """A player over `store`, which serves `scenarios`."""
    prompts: dict[str, Prompts] = {scenario.id: {} for scenario in scenarios}
    with ExitStack() as stack:
        first = Desk(store, application(scenarios, prompts))
        desks = [first, *(Desk(store, application(scenarios, prompts), beside=first) for _ in range(2))]
        for desk in desks:
            stack.enter_context(desk)
        yield ServedPlayer(store, desks, prompts)
