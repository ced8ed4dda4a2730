"""A receiver before it is kept; a run may be submitted with one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class NewWebhook:
    """A receiver to be kept; its URL was checked, and `origin` is of it."""

    id: str
    url: str
    origin: str
    events: tuple[str, ...]
    secret: str
    description: str = ""
    created_by: str
