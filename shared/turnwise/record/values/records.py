"""The values that are read from the record and handed to it, frozen.

Times are seconds since the epoch by the database's clock, money is `Decimal` US dollars. Documents, records, states
and results are JSON objects whose meaning this package does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict

from turnwise.base import json_value
from turnwise.base.waits import RunWait
from turnwise.models.limits.window import Caps, LimitPlace, Window
from turnwise.record.asks.parked_reason import ParkedReason
from turnwise.record.events.event import EventPlace
from turnwise.record.states import FINISHED, AskStatus, ResponderKind, RunStatus
from turnwise.record.values.fork_origin import ForkOrigin
from turnwise.record.values.kept_errors import KeptError
from turnwise.record.values.row_record import RowRecord
from turnwise.record.webhooks.new_webhook import NewWebhook

if TYPE_CHECKING:
    from turnwise.record.values.known_run import KnownRun  # which is made of these records

Json = json_value.Json


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    """A run to be kept; `deadline` is in seconds from its acceptance."""

    id: str
    task: str
    version: str
    message: Json
    priority: int = 0
    tags: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    session_id: str | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    turns: int | None = None
    max_turns: int | None = None
    deadline: float | None = None
    on_limit: str | None = None
    can_wait: float | None = None
    idempotency_key: str | None = None
    body_hash: str | None = None
    forked_from: ForkOrigin | None = None
    model: str | None = None
    traceparent: str | None = None
    batch_id: str | None = None
    batch_budget: bool | None = None
    webhook: NewWebhook | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFork:
    """The settings of a fork; None takes that of the forked run.

    `at` is an event of that run. With `session_id`, which must be new, the fork begins that session. `message` is in
    the place of the one that the run began with, for a fork before its beginning; for one that begins with a human
    being asked, the caller has it answer that.
    """

    id: str
    at: int
    version: str
    message: Json | None = None
    model: str | None = None
    session_id: str | None = None
    keeps_conversation: bool = False
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    turns: int | None = None
    deadline: float | None = None
    on_limit: str | None = None
    can_wait: float | None = None
    idempotency_key: str | None = None
    body_hash: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunRecord(RowRecord):
    """A run's row; the field names are the columns."""

    id: str
    tenant: str
    task: str
    version: str
    status: RunStatus
    status_code: str | None
    priority: int
    tags: list[str]
    metadata: Json
    session_id: str | None
    session_key: str | None
    session_no: int | None
    conversation_id: str | None
    forked_from: ForkOrigin | None
    model: str | None
    message: Json
    max_cost: Decimal | None
    max_tokens: int | None
    turns: int | None
    max_turns: int | None
    deadline_at: float | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    unpriced_calls: int
    cost: Decimal
    reserved_cost: Decimal
    reserved_tokens: int
    on_limit: str | None
    last_seq: int
    last_frame: int
    last_document: int
    cancel_requested_at: float | None
    waiting_for: RunWait | None
    result: Json | None
    error: KeptError | None
    idempotency_key: str | None
    body_hash: str | None
    awaiting: str | None
    move_due_at: float | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    traceparent: str | None = None
    stretch: str | None = None
    revision: int = field(default=0, compare=False)
    uncounted: Json | None = None
    can_wait: float | None = None
    batch_id: str | None = None
    batch_budget: bool | None = None

    @property
    def ended(self) -> bool:
        """Return whether the run has a final status."""
        return self.status in FINISHED


class RunChanges(TypedDict, total=False):
    """The changes that a transaction may make to a run by itself; counters and usage have methods of their own."""

    status: RunStatus
    status_code: str | None
    waiting_for: RunWait | None
    result: Json | None
    error: KeptError | None
    awaiting: str | None
    move_due_at: float | None
    started_at: float | None
    cancel_requested_at: float | None
    max_cost: Decimal | None
    max_tokens: int | None
    stretch: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameRecord:
    """A task on a run's stack; `no` is never reused within the run."""

    no: int
    path: str
    state: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A document to be kept under an id that is unique within its run."""

    id: str
    body: Json
    parent_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewAsk:
    """A request to one responder to answer a message; `queue` is None for a question to a human, `extra` is for the
    responder.
    """

    id: str
    frame_no: int
    path: str
    agent: str
    responder: ResponderKind
    queue: str | None
    turn: int
    candidate: int
    message_id: str | None
    priority: int = 0
    max_attempts: int = 5
    due_at: float | None = None
    extra: Json = field(default_factory=dict)
    traceparent: str | None = None


@dataclass(frozen=True, kw_only=True)
class AskRecord(RowRecord):
    """An ask's row.

    `lost`: how often its holder was lost, or it was parked, since it was first asked, or since a person let it be tried
    again. `parked` says why it was parked, also after that was resolved. `extra` is for the responder: of a human
    `default`, else `given`, the answer of a person in its place.
    """

    run_id: str
    id: str
    frame_no: int
    path: str
    agent: str
    responder: str
    queue: str | None
    turn: int
    candidate: int
    message_id: str | None
    priority: int
    status: AskStatus
    attempts: int
    max_attempts: int
    token: int
    worker_id: str | None
    due_at: float | None
    extra: Json
    topups: int
    topup_after: float | None
    deferrals: int
    tenant: str = "default"
    bucket: str | None = None
    bucket_tokens: int | None = None
    failures: Json | None = None
    lost: int = 0
    parked: ParkedReason | None = None
    parked_at: float | None = None
    created_at: float
    claimed_at: float | None
    closed_at: float | None
    traceparent: str | None = None

    @property
    def given(self) -> str | None:
        """The answer that a person gives in the responder's place, if one does."""
        found: str | None = self.extra.get("given")
        return found

    @property
    def place(self) -> EventPlace:
        """The place of an event about the ask."""
        return EventPlace(path=self.path, turn=self.turn, candidate=self.candidate, ask_id=self.id)

    @property
    def agent_name(self) -> str:
        """The name of the agent that is asked, without the path of its task."""
        return self.agent.rsplit("/", 1)[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyRecord:
    """A reply's row; `reason` says why a reply that was not accepted is kept only for the books."""

    run_id: str
    ask_id: str
    token: int
    kind: str
    accepted: bool
    reason: str | None
    document_id: str | None
    error: KeptError | None
    usage: Json | None
    cost: Decimal | None
    worker_id: str | None
    at: float
    traceparent: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The use of models by calls; `cost` is None where no price is known.

    `doubt` says why a provider's own count was not taken.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 1
    cost: Decimal | None = None
    model: str | None = None
    doubt: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewHistory:
    """A message for an agent's history, with its token count and the document that it shows."""

    role: str
    body: Json
    tokens: int = 0
    document_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryRow:
    """A message of an agent's history; `total` is the tokens of it and of all before it."""

    idx: int
    role: str
    body: Json
    tokens: int
    total: int
    document_id: str | None


@dataclass(frozen=True, kw_only=True)
class AgentRecord(RowRecord):
    """The state of an agent that lasts between turns; `history_epoch` grows when history rows were taken away.

    In a run of a session the first `base_len` messages are still the session's, from its epoch `base_epoch`.
    """

    key: str
    record: Json | None = None
    state: Json | None = None
    history_len: int = 0
    history_epoch: int = 0
    history_tokens: int = 0
    base_len: int = 0
    base_epoch: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderPlace:
    """A place with a provider, taken for call `call_no` of a claim; `caps` and `window` are as they were then.

    `probes`: the call probes whether a provider that was away is back.
    """

    bucket: str
    caps: Caps
    window: Window
    place: LimitPlace
    call_no: str
    probes: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """An ask taken by a worker; `token` fences off every earlier and later holder.

    `place` was taken with the provider that the ask waited for. `known` is what the holder knows of the run from the
    transaction that gave it the ask.
    """

    ask: AskRecord
    token: int
    worker_id: str
    run: RunRecord
    document: Json | None
    agent: AgentRecord
    place: ProviderPlace | None = None
    known: KnownRun | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRecord:
    """An event of a run; `document` is the body of the document that `data["document"]` names."""

    run_id: str
    seq: int
    type: str
    at: float
    path: str | None
    turn: int | None
    candidate: int | None
    ask_id: str | None
    data: Json | None
    document: Json | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """The conditions of a list of runs; None means any. `batch` is the id of one.

    `errors` are kinds, codes or types of final errors. `text` is searched in ids and messages, see `TextSearch`.
    `conversations` name the conversation that the first message was given with; they are looked for run by run, so
    another filter has to make these few.
    """

    tenant: str | None = None
    status: str | None = None
    task: str | None = None
    tag: str | None = None
    session_id: str | None = None
    created_after: float | None = None
    created_before: float | None = None
    statuses: tuple[str, ...] | None = None
    errors: tuple[str, ...] | None = None
    finished_after: float | None = None
    text: str | None = None
    conversations: tuple[str, ...] | None = None
    batch: str | None = None
