"""A human's answer, as a message of the run."""

from __future__ import annotations

from functools import partial

from turnwise.agents.kept_state import AgentMemory
from turnwise.messages.document import ChatDocument
from turnwise.messages.human import human_answer
from turnwise.messages.wire import decode_document, encode_document
from turnwise.observability.telemetry.context import current_traceparent, link_current_to
from turnwise.record.runs.inbox import HumanQuestion
from turnwise.record.values.records import NewDocument
from turnwise_gateway.gateway import Gateway


def take_answer(gateway: Gateway, run_id: str, text: str, question: str | None) -> None:
    """Take a human's answer; raises what `Inbox.answer` raises."""
    ask = gateway.record.answer(run_id, partial(as_document, text), question, traceparent=current_traceparent())
    link_current_to(ask.traceparent)


def as_document(text: str, asked: HumanQuestion | None) -> NewDocument | None:
    """The answer as a message; None for an empty one, which lets others answer."""
    question: ChatDocument | None = None
    default, calls = None, []
    if asked is not None:
        # Tools are none of the human's business, so no registry: the run may be of another version than this process.
        question = decode_document(asked.document, {}) if asked.document else None
        memory = AgentMemory.model_validate(asked.agent.record or {})
        default, calls = asked.ask.extra.get("default"), memory.open_calls
    said = human_answer(text, question, default=default, open_calls=calls)
    if said is None:
        return None
    # Whatever comes over HTTP, also what begins with SYSTEM, runs no handler that the model may not use.
    said.metadata.tainted = True
    if question is not None:
        said.answers(question)
    return NewDocument(id=said.metadata.id, body=encode_document(said), parent_id=said.metadata.parent_id or None)
