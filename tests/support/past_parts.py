"""Runs that are played once with models and humans, and from then on with what those said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.support.kept_values import kept

from turnwise import App, Entity, Task
from turnwise.agents.kept_state import AgentMemory
from turnwise.base.ids import new_id
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Json, NewDocument, NewFork, NewRun, RunRecord
from turnwise.serving.attempts.answering import Answering
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved

TASK = "team"
# More steps than any run here takes.
_STEPS = 200


class Stage:
    """One task, served step by step; what was answered to each ask is remembered by its place in the run.

    `with_reply`: who has written a reply makes the next move in the same transaction.
    """

    def __init__(
        self,
        store: Store,
        build: Callable[[], Task],
        answers: tuple[str, ...] = ("yes", "q"),
        *,
        with_reply: bool = False,
    ) -> None:
        self.store = store
        self.app = App("stage", new_id("version"))
        self.app.task(name=TASK)(build)
        self._answers = answers
        self._with_reply = with_reply
        self._answering = Answering(store.worker, self.app)
        self._mover = Mover(app=self.app, llm_queues={}, agent_queues={})
        info = WorkerInfo(kind="responders", queues=("llm", "agent"), host="here", pid=1, version="1")
        self._worker = store.process.register_worker(info)
        self.said: dict[str, Reply | NewDocument | None] = {}

    def play(self, text: str | None, **given: Any) -> RunRecord:
        """A run from its beginning to its end."""
        return self.go_on(self.submit(text, **given))

    def submit(self, text: str | None, **given: Any) -> str:
        """A new run's id."""
        message = {} if text is None else self.message(text)
        new = NewRun(id=new_id("run"), task=TASK, version=self.app.version, message=message, **given)
        return self.store.tenant(DEFAULT_TENANT).submit(new)[0].id

    def message(self, text: str) -> Json:
        """A text as it comes over HTTP."""
        metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER, tainted=True)
        return encode_document(ChatDocument(content=text, metadata=metadata))

    def fork(self, run_id: str, at: int, **given: Any) -> RunRecord:
        """A fork, of this version, that has not gone on yet."""
        new = NewFork(id=new_id("run"), at=at, version=self.app.version, **given)
        return self.store.tenant(DEFAULT_TENANT).fork(run_id, new)[0]

    def go_on(self, run_id: str, steps: int = _STEPS) -> RunRecord:
        """The run after so many asks, or at its end."""
        for _ in range(steps):
            self._move(run_id)
            run = self.store.inspector.run(run_id)
            if run.ended:
                return run
            self._answer(run)
        return self.store.inspector.run(run_id)

    def waiting(self, run_id: str) -> RunRecord:
        """The run after its next move."""
        self._move(run_id)
        return self.store.inspector.run(run_id)

    def _move(self, run_id: str) -> Moved:
        with self.store.coordinator.locked(run_id) as transaction:
            return self._mover.move(transaction)

    def _answer(self, run: RunRecord) -> None:
        assert run.awaiting is not None
        place = run.awaiting.partition(".")[2]
        if kept(run.waiting_for)["kind"] == "human":
            if place not in self.said:
                self.said[place] = self._human(run)
            known = self.said[place]
            assert not isinstance(known, Reply)
            document = replace(known, id=new_id("doc")) if known is not None else None
            if document is not None:
                metadata = {**document.body["metadata"], "id": document.id}
                document = replace(document, body=document.body | {"metadata": metadata})
            self.store.tenant(DEFAULT_TENANT).answer(run.id, document, run.awaiting)
            return
        claim = self.store.worker.claim(kept(run.waiting_for)["queue"], self._worker, self.app.version)
        assert claim is not None
        assert claim.ask.id == run.awaiting
        if place not in self.said:
            answered = self._answering.answer(claim)
            assert isinstance(answered, Reply)
            self.said[place] = answered
        reply = self.said[place]
        assert isinstance(reply, Reply)

        def then(transaction: RunTransaction) -> None:
            self._mover.move(transaction)

        assert self.store.worker.reply(claim, reply, then if self._with_reply else None)

    def _human(self, run: RunRecord) -> NewDocument | None:
        with self.store.coordinator.locked(run.id) as transaction:
            asked = transaction.open_ask()
            assert asked is not None
            body = transaction.documents([asked.message_id]).get(asked.message_id) if asked.message_id else None
            calls = AgentMemory.model_validate(transaction.agent(asked.agent).record or {}).open_calls
        tree = self.app.tree(TASK)
        question = decode_document(body, tree.registry()) if body else None
        text = self._answers[len(self.said) % len(self._answers)]
        default = tree.root.at(asked.path).default_human_response
        said = human_answer(text, question, default=default, open_calls=calls)
        return NewDocument(id=said.metadata.id, body=encode_document(said)) if said is not None else None


_LINKS = {"id", "parent_id", "child_id", "document_id", "chat_document_id", "agent_id"}
_KINDS = ("task.started", "turn.taken", "turn.rejected", "turn.none", "task.finished", "human.answered")


def told(store: Store, run: RunRecord) -> list[Any]:
    """Return the events of a run, without ids; and what is left of its agents."""
    lines: list[Any] = []
    for event in store.inspector.events(run.id, limit=100_000):
        if event.type in _KINDS:
            document = None if event.document is None else _plain(event.document)
            status = (event.data or {}).get("status")
            lines.append((event.type, event.path, event.turn, event.candidate, status, document))
    lines.append((run.status, run.status_code, _plain(run.result), _plain(run.error)))
    found = store.inspector.export(run.id)
    live = [row for row in found["histories"] if row["aside"] is None]
    lines.append([_plain({**row, "total": None}) for row in live])
    return lines


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in _LINKS and key != "line"}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
