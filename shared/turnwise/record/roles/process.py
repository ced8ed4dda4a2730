"""The role of every process that shows that it lives: its registration and its heartbeat."""

from __future__ import annotations

from turnwise.record.asks.workers import Incarnations
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.transaction.core import Core


class ProcessRole(Incarnations):
    """Signs a process on, renews its lease, and signs it off."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)
