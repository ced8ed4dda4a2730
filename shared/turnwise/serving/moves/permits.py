"""Permits for asks that are in the record already."""

from __future__ import annotations

from turnwise.bus.envelope import AskEnvelope
from turnwise.record.values.records import AskRecord


def permit(ask: AskRecord) -> AskEnvelope:
    """A permit for the ask, without the document: who claims it reads the database."""
    return AskEnvelope(
        ask=ask.id,
        run=ask.run_id,
        queue=ask.queue or "",
        agent=ask.agent_name,
        responder="llm" if ask.responder == "llm" else "agent",
        task=ask.path,
        turn=ask.turn,
        traceparent=ask.traceparent,
    )
