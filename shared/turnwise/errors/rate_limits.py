"""A provider's announced limits, which its refusal carries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """One announced limit: how much of it there is, how much is left, and in how many seconds all of it is back."""

    limit: int
    remaining: int
    reset: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimits:
    """The limits that came with an answer; None for what was not announced.

    `retry_after` is in seconds, and comes with a refusal.
    """

    requests: Quota | None = None
    tokens: Quota | None = None
    retry_after: float | None = None
