"""Providers of models: their limits, and the asks that wait for them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from turnwise.api.open_values import OpenValues
from turnwise.api.view import View


class ProviderLimitsView(View):
    """Limits of a provider; null is none."""

    requests: int | None = Field(description="In `window` seconds.")
    tokens: int | None = Field(description="In `window` seconds.")
    concurrency: int | None = Field(description="Calls at a time.")
    window: float = Field(description="Seconds.")


class ProviderUseView(View):
    """Taken of the limits at present."""

    requests: int
    tokens: int
    concurrency: int = Field(description="Calls under way; counted where their number is limited.")


class ProviderView(View):
    """A model at a server, for one API key."""

    model: str
    server: str
    account: str | None = Field(description="A fingerprint of the API key. For operators.")
    limits: ProviderLimitsView = Field(description="As configured, else as the provider announced them.")
    used: ProviderUseView
    closed_until: datetime | None = Field(description="No ask that waits is claimed before then; null: it is open.")
    closed_for: Annotated[Literal["requests", "tokens", "concurrency", "outage"], OpenValues()] | None = Field(
        description="The limit that it is closed for; outage: it does not answer."
    )
    waiting: int = Field(description="Asks that wait for room: the caller's, or for operators with `fleet` all.")
    oldest_age: float = Field(description="Seconds since the oldest of them was asked.")
    runs: list[str] = Field(description="The first runs in line, at most 10; none with `fleet`.")
    tenants: dict[str, int] = Field(description="With `fleet`, how many asks of each tenant wait.")
