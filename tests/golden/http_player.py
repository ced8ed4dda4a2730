"""Plays a scenario over HTTP against whatever serves it, as a user's program would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.client_views import numbered

from turnwise.base.ids import new_id
from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.messages.wire import encode_document
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun
from turnwise.tasks.entry import document_of

from . import model
from .application import Outside, everything
from .events import Json, observed_run
from .model_server import ScriptedModels
from .player import return_type_of
from .record import Observation, ObservedRun
from .script import ScriptedHuman
from .team import Team


class HttpPlayer:
    """Plays scenarios of one installation, each once; safe to use from many threads.

    `models` are those behind the installation's model server, `store` is its record. What HTTP has no words for goes
    in through the store: no message at all, a message that is not a human's, and a limit of turns for all tasks.
    """

    def __init__(self, client: Client, models: ScriptedModels, store: Store) -> None:
        self._client = client
        self._models = models
        self._store = store

    def play(self, scenario: model.Scenario) -> Observation:
        """Make the scenario's runs, and answer as its human."""
        human = ScriptedHuman(scenario.human)
        session = new_id("session") if len(scenario.runs) > 1 else None
        runs, calls_before = [], None
        for call in scenario.runs:
            runs.append(self._run(scenario, call, session, human))
            if runs[-1].forgotten and calls_before is None:
                calls_before = {name: len(calls) for name, calls in self._models.prompts(scenario).items()}
        prompts = self._models.prompts(scenario)
        return Observation(
            runs=tuple(runs),
            llm_calls={agent: len(calls) for agent, calls in prompts.items()},
            human_asked=human.asked,
            llm_inputs=prompts,
            calls_before=calls_before,
        )

    def _run(
        self, scenario: model.Scenario, call: model.RunCall, session: str | None, human: ScriptedHuman
    ) -> ObservedRun:
        run_id = self._submit(scenario, call, session)
        events = self._follow(run_id, human)
        run = self._client.run(run_id)
        assert [event["seq"] for event in events] == list(range(1, run.last_event + 1))
        assert _documents(events) == list(_conversation(as_json(self._client.transcript(run_id))["root"]))
        tree = everything.tree(scenario.id)
        wanted = return_type_of(call, tree.registry().__getitem__) or tree.tasks[scenario.task.name].default_return_type
        return observed_run(tree, events, as_json(run), wanted)

    def _submit(self, scenario: model.Scenario, call: model.RunCall, session: str | None) -> str:
        if isinstance(call.message, str) and scenario.turn_limit == model.DEFAULT_TURN_LIMIT:
            run = self._client.submit(scenario.id, call.message, turns=call.turns, session_id=session)
            return str(run.id)
        return self._submit_to_record(scenario, call, session)

    def _submit_to_record(self, scenario: model.Scenario, call: model.RunCall, session: str | None) -> str:
        message = call.message
        if isinstance(message, model.Document):
            given: Any = Team(scenario, Outside(scenario)).document(message)
        else:
            given = message
        run, _ = self._store.tenant(DEFAULT_TENANT).submit(
            NewRun(
                id=new_id("run"),
                task=scenario.id,
                version=everything.version,
                session_id=session,
                message=encode_document(document_of(given)) if given is not None else {},
                turns=call.turns,
                max_turns=scenario.turn_limit,
            )
        )
        return run.id

    def _follow(self, run_id: str, human: ScriptedHuman) -> list[Json]:
        events = []
        for event in numbered(self._client.events(run_id)):
            events.append(event)
            if event.type == "human.asked":
                self._client.answer(run_id, human.answer(), question=event.ask)
        return [as_json(event) for event in events]


def _documents(events: list[Json]) -> list[Json]:
    """The messages that tasks began with and took, in order."""
    taken = (event for event in events if event["type"] in ("task.started", "turn.taken"))
    return [event["data"]["document"] for event in taken if "document" in (event.get("data") or {})]


def _conversation(task: Json | None) -> Iterator[Json]:
    """The same messages in a transcript."""
    for item in task["items"] if task else ():
        if item["kind"] == "task":
            yield from _conversation(item)
        else:
            yield item["document"]
