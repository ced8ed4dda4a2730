"""The ask that a move ends with: a question to a human, or written for whoever claims it, or as held by a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from turnwise.base.waits import HumanWait, ResponderWait, RunWait
from turnwise.bus.envelope import AskEnvelope
from turnwise.machine.actions import Ask
from turnwise.machine.state import LLM
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.record.events.ask_events import HumanAsked, TurnAsked
from turnwise.record.events.event import EventPlace
from turnwise.record.states import ResponderKind, status_while_asked
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import AskRecord, Claim, Json, NewAsk
from turnwise.serving.moves.run_documents import RunDocuments
from turnwise.tasks.tree import TaskTree


@dataclass(frozen=True)
class NextAsk:
    """An ask that `tx` writes, and what becomes of it once that is committed."""

    tx: RunTransaction
    ask: AskRecord
    agent_name: str

    def claim(self, documents: RunDocuments) -> Claim | None:
        """The claim of the worker that holds the ask; None if none does."""
        ask = self.ask
        if ask.worker_id is None:
            return None
        return Claim(
            ask=ask,
            token=ask.token,
            worker_id=ask.worker_id,
            run=self.tx.run,
            document=self._message(documents),
            agent=self.tx.agent(ask.agent),
            known=self.tx.known,
        )

    def envelope(self, documents: RunDocuments) -> AskEnvelope | None:
        """The permit to be published; None for a question, and for an ask that a worker holds."""
        ask = self.ask
        if ask.queue is None or ask.worker_id is not None:
            return None
        return AskEnvelope(
            ask=ask.id,
            run=ask.run_id,
            queue=ask.queue,
            agent=self.agent_name,
            responder=ask.responder,  # type: ignore[arg-type]
            task=ask.path,
            turn=ask.turn,
            document=self._message(documents),
            traceparent=ask.traceparent,
        )

    def _message(self, documents: RunDocuments) -> Json | None:
        return documents.body(self.ask.message_id) if self.ask.message_id else None


@dataclass(frozen=True, kw_only=True)
class AskWriter:
    """Writes the ask of a move in `tx`; `version` is that of the application, if the run began with another one."""

    tx: RunTransaction
    tree: TaskTree
    version: str | None
    max_attempts: int

    def to_human(self, frame: int, ask: Ask) -> NextAsk:
        """Write a question."""
        place, message_id = self._place(frame, ask), _message_id(ask)
        self.tx.event(HumanAsked(responder=ask.responder, document=message_id, version=self.version), place)
        wait = HumanWait(question=str(place.ask_id), task=ask.path)
        # For whoever takes the answer, which need not have this version of the application.
        extra: Json = {"default": self.tree.root.at(ask.path).default_human_response}
        new = self._new(frame, ask, place, "user", self._agent(ask), extra=extra)
        return self._added(new, wait)

    def to_queue(self, frame: int, ask: Ask, queue: str, holder: str | None) -> NextAsk:
        """Write an ask for `queue`, as held by the worker `holder` if there is one."""
        responder: Literal["llm", "agent"] = "llm" if ask.responder == LLM else "agent"
        place, message_id = self._place(frame, ask), _message_id(ask)
        asked = TurnAsked(responder=ask.responder, queue=queue, document=message_id, version=self.version)
        self.tx.event(asked, place)
        agent = self._agent(ask)
        wait = ResponderWait(responder=responder, agent=self._name_of(agent), queue=queue)
        new = self._new(frame, ask, place, responder, agent, queue=queue)
        return self._added(new, wait, holder)

    def _new(
        self,
        frame: int,
        ask: Ask,
        place: EventPlace,
        responder: ResponderKind,
        agent: str,
        *,
        queue: str | None = None,
        extra: Json | None = None,
    ) -> NewAsk:
        return NewAsk(
            id=str(place.ask_id),
            frame_no=frame,
            path=ask.path,
            agent=agent,
            responder=responder,
            queue=queue,
            turn=ask.turn,
            candidate=ask.candidate,
            message_id=_message_id(ask),
            priority=self.tx.run.priority,
            max_attempts=self.max_attempts,
            extra=extra or {},
            traceparent=current_traceparent(),
        )

    def _added(self, new: NewAsk, wait: RunWait, holder: str | None = None) -> NextAsk:
        made = self.tx.add_ask(new, holder)
        self.tx.change(status=status_while_asked(new.responder), waiting_for=wait, awaiting=made.id, move_due_at=None)
        return NextAsk(self.tx, made, self._name_of(new.agent))

    def _agent(self, ask: Ask) -> str:
        return self.tree.root.at(ask.path).agent

    def _name_of(self, agent: str) -> str:
        return self.tree.agents[agent].config.name

    def _place(self, frame: int, ask: Ask) -> EventPlace:
        ask_id = f"{self.tx.run.id}.{frame}.{ask.turn}.{ask.candidate}"
        return EventPlace(path=ask.path, turn=ask.turn, candidate=ask.candidate, ask_id=ask_id)


def _message_id(ask: Ask) -> str | None:
    return ask.message.metadata.id if ask.message is not None else None
