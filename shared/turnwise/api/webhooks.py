"""Webhooks: receivers of events, and what is sent to them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from turnwise.api.open_values import OpenValues
from turnwise.api.view import View

DeliveryStatus = Literal["pending", "delivered", "parked"]


class WebhookView(View):
    """A receiver, without its secret."""

    id: str
    run: str | None = Field(description="Of the run that it was submitted with; null: it gets events of all runs.")
    url: str
    events: list[str] = Field(description="The types that it gets.", examples=[["run.completed", "run.failed"]])
    description: str
    active: bool
    disabled_at: datetime | None
    disabled_reason: Annotated[Literal["gone", "request"], OpenValues()] | None = Field(
        description="gone: it answered 410; request: someone disabled it."
    )
    previous_secret_until: datetime | None = Field(
        description="Until then, deliveries are also signed with the secret before."
    )
    created_at: datetime
    created_by: str
    pending: int = Field(description="Deliveries that wait to be sent, or to be sent again.")
    parked: int = Field(description="Deliveries that were given up, and can be replayed.")


class NewWebhookView(WebhookView):
    """A receiver with its new secret, which no one is told again."""

    secret: str = Field(description="Signs what is sent, by Standard Webhooks.")


class RunWebhookView(View):
    """The receiver that a run was submitted with; only the answer to the submission has the secret."""

    id: str
    url: str
    events: list[str]
    secret: str


class DeliveryView(View):
    """A message to a receiver: what became of the last attempt, and when the next one is made."""

    id: str = Field(description="Sent as `webhook-id`, the same in every attempt.")
    webhook: str
    run: str | None = Field(description="null: a test.")
    seq: int | None = Field(description="The number of the run's event.")
    type: str
    state: Annotated[DeliveryStatus, OpenValues()]
    created_at: datetime
    attempts: int
    attempted_at: datetime | None
    next_attempt_at: datetime | None
    ended_at: datetime | None = Field(description="When it was delivered or parked.")
    status_code: int | None = Field(description="Of the last answer.")
    error: str | None = Field(description="Why the last attempt failed.")
    response: str | None = Field(description="The beginning of the last answer.")
    body: str | None = Field(description="As it was sent; null before the first attempt.")


class ReplayView(View):
    """The number of parked deliveries that are sent again."""

    replayed: int
