"""The script of batches: how long they take, and how they end."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

BatchEnd = Literal["completed", "expired", "failed", "cancelled"]


class BatchScript(BaseModel):
    """The course of batches.

    `delay` is the seconds that a batch takes. `ends` are the ends of the first batches, in order; later ones are
    completed. A batch that `expired`, or was `cancelled` by the provider, has answered the first half of its lines; one
    that `failed` has answered none. `create_delay` is the seconds between a batch's beginning and the answer to the
    request that made it. `offered=False` makes it a server that has neither files nor batches.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    delay: float = Field(0.0, ge=0)
    ends: list[BatchEnd] = Field(default_factory=list)
    create_delay: float = Field(0.0, ge=0)
    offered: bool = True
