"""Receivers of webhooks, and deliveries to them, as they are read from the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from turnwise.record.values.records import EventRecord, RunRecord

DeliveryState = Literal["pending", "delivered", "parked"]
# The receiver answered 410, or a person said so.
DisabledReason = Literal["gone", "request"]
# Of an attempt: `failed` is tried again, `parked` is not, and `gone` disables the receiver.
WebhookOutcome = Literal["delivered", "failed", "parked", "gone"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookRecord:
    """A receiver's row without its secrets; `run_id` is of the run that it was submitted with.

    `pending` and `parked` are its deliveries that wait, and those that were given up.
    """

    id: str
    tenant: str
    run_id: str | None
    url: str
    origin: str
    events: list[str]
    description: str
    previous_until: float | None
    created_at: float
    created_by: str
    disabled_at: float | None
    disabled_reason: DisabledReason | None
    pending: int = 0
    parked: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryRecord:
    """A delivery's row. Its `id` is the header `webhook-id`, the same in every attempt."""

    id: str
    tenant: str
    webhook_id: str
    run_id: str | None
    seq: int | None
    type: str
    created_at: float
    state: DeliveryState
    due_at: float | None
    since: float
    attempts: int
    attempted_at: float | None
    ended_at: float | None
    body: str | None
    status_code: int | None
    response: str | None
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DueDelivery:
    """A delivery that a coordinator has taken, for as long as its lease lasts; `attempt` fences off all others.

    `tried_for` is since how many seconds it has been tried.
    """

    id: str
    webhook_id: str
    tenant: str
    host: str
    attempt: int
    tried_for: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Parcel:
    """All that is needed to send a delivery: the receiver, and either the body of the first attempt or its facts.

    `secrets` are those that are valid at `now`, the newest first. The event is None for a test.
    """

    delivery: DeliveryRecord
    url: str
    secrets: tuple[str, ...]
    run: RunRecord | None
    event: EventRecord | None
    now: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempted:
    """The outcome of an attempt: the status of the answer and its beginning, or the error; `gone`: it said 410."""

    delivered: bool
    status_code: int | None = None
    response: str | None = None
    error: str | None = None
    gone: bool = False
    # Seconds that the receiver wants to be left alone.
    retry_after: float | None = None
