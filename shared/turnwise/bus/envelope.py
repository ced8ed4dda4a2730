"""Envelopes of the bus: versioned JSON, the same for every broker and for the in-process bus.

AskEnvelope     to one work queue     someone is asked; a permit to claim one ask of that queue
MoveEnvelope    to `coordinator`      a run may be able to move
RunNotice       to one listener       a run that it watches has got an event with this number
CancelNotice    to every listener     a run was cancelled: stop what you do for it
RunWatchNotice  to every server       the events of these runs are told to that listener for the next seconds
WatchNotice     to every server       the same, and their text
TextWatchNotice to every server       the same, and their text also where a model's settings leave that open
TextNotice      to one listener       pieces of text of answers that are still being written
TokenNotice     within a TextNotice   one of these pieces; earlier versions send it to every listener
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from turnwise.base.json_bounds import MAX_STORED_DEPTH, fault_in
from turnwise.errors import InvalidRequestError

# Above this many bytes of JSON the ask travels without its document; who answers reads the database anyway.
MAX_DOCUMENT_BYTES = 64 * 1024
# No message of this program is larger; one that is, is refused unread.
MAX_MESSAGE_BYTES = 256 * 1024
# The run of a permit that is sent only to see whether it arrives; no run has this id.
PROBE_RUN = "doctor"
# A document as it is stored, and the envelope around it.
_MAX_DEPTH = MAX_STORED_DEPTH + 1


class _Wire(BaseModel):
    """Frozen and exact: an unknown field or a number given as text is refused, not guessed at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    v: Literal[1] = 1


class _OfRun(_Wire):
    run: str = Field(min_length=1, description="Id of the run.")


class AskEnvelope(_OfRun):
    """Someone is asked; published to exactly one work queue.

    A `document` of more than 64 KB of JSON is left out (None) when the envelope is made: the copy is for observers.
    """

    kind: Literal["ask"] = "ask"
    ask: str = Field(min_length=1, description="Id of the ask.")
    queue: str = Field(min_length=1, description="The work queue, stored on the ask too.")
    agent: str = Field(min_length=1, description="Name of the agent, as written (not percent-encoded).")
    responder: Literal["llm", "agent"]
    task: str = Field(description="Path of the task within the run.")
    turn: int = Field(ge=0)
    document: dict[str, Any] | None = Field(None, description="The ChatDocument to answer, where it is small.")
    traceparent: str | None = Field(None, description="W3C trace context of the move that asked.")

    @field_validator("document")
    @classmethod
    def _leave_out_a_large_one(cls, document: dict[str, Any] | None) -> dict[str, Any] | None:
        if document is None or len(json.dumps(document, ensure_ascii=False).encode()) <= MAX_DOCUMENT_BYTES:
            return document
        return None


class MoveEnvelope(_OfRun):
    """Wakes a coordinator: the run may be able to move."""

    kind: Literal["move"] = "move"


class RunNotice(_OfRun):
    """The run's record has got its event number `seq`; read from there."""

    kind: Literal["run"] = "run"
    seq: int = Field(ge=0)


class CancelNotice(_OfRun):
    """The run was cancelled: whoever works for it may stop."""

    kind: Literal["cancel"] = "cancel"


class TokenNotice(_OfRun):
    """A piece of an answer being written; never stored, and void once another attempt writes.

    `offset` counts the characters of this attempt before `text`, so that a reader sees what was lost on the way.
    """

    kind: Literal["llm.delta"] = "llm.delta"
    ask: str = Field(min_length=1)
    attempt: int = Field(ge=1)
    offset: int = Field(ge=0)
    text: str


class TextNotice(_Wire):
    """Text of any number of answers, for one listener that watches their runs."""

    kind: Literal["llm.deltas"] = "llm.deltas"
    pieces: list[TokenNotice] = Field(min_length=1)


class Announcement(_Wire):
    """Runs that a listener watches, for `seconds`; repeated as long as it is true, so no notice ends it."""

    listener: str = Field(pattern=r"^[0-9A-Za-z]{1,64}$", description="Address of the listener.")
    runs: list[str] = Field(min_length=1, max_length=1_000, description="Ids of the runs.")
    seconds: float = Field(gt=0, le=60)


class RunWatchNotice(Announcement):
    """The events of these runs are wanted at the address `listener`, and not their text."""

    kind: Literal["watch.run"] = "watch.run"


class WatchNotice(Announcement):
    """The events of these runs are wanted at the address `listener`, and the text of models that stream."""

    kind: Literal["watch"] = "watch"


class TextWatchNotice(Announcement):
    """The text of these runs is wanted also of models whose settings leave open whether they stream.

    A `WatchNotice` of the same runs comes as well, for processes of a version that does not know this one.
    """

    kind: Literal["watch.text"] = "watch.text"


Work = AskEnvelope | MoveEnvelope
Notice = RunNotice | CancelNotice | TokenNotice | TextNotice | RunWatchNotice | WatchNotice | TextWatchNotice
Envelope = Work | Notice

_ENVELOPE: TypeAdapter[Envelope] = TypeAdapter(Annotated[Envelope, Field(discriminator="kind")])


def parse_envelope(data: object) -> Envelope:
    """The envelope that the JSON object `data` stands for.

    Raises `InvalidRequestError` naming every fault: an unknown version or kind, a missing, additional or wrong field.
    """
    if not isinstance(data, dict):
        raise InvalidRequestError(
            f"An envelope is a JSON object, but a {type(data).__name__} arrived; nothing was done"
        )
    if data.get("v") != 1:
        raise InvalidRequestError(
            f"The envelope has version {data.get('v')!r}, this program reads version 1; "
            "update this process before those that publish"
        )
    if (fault := fault_in(data, _MAX_DEPTH)) is not None:
        raise InvalidRequestError(f"Not an envelope of version 1: {fault}")
    try:
        return _ENVELOPE.validate_python(data)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'kind'}: {fault['msg']}" for fault in error.errors())
        raise InvalidRequestError(f"Not an envelope of version 1: {faults}; see its JSON Schema") from error


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of every envelope, told apart by `kind`, for observers in other languages."""
    made = _ENVELOPE.json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Turnwise envelope, version 1", **made}
