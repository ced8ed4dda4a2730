"""The role of a worker: asks of all tenants, under the claims that it holds."""

from __future__ import annotations

from turnwise.record.asks.carrying import Carrying
from turnwise.record.asks.claims import Claims
from turnwise.record.asks.parking import AskParking
from turnwise.record.asks.receipts import Receipts
from turnwise.record.asks.replies import Replies
from turnwise.record.asks.still_needed import StillNeeded
from turnwise.record.asks.unclaimed import Unclaimed
from turnwise.record.budgets.providers import ProviderLines, Providers
from turnwise.record.budgets.reservations import Reservations
from turnwise.record.provider_batches.collecting import CollectedAsks
from turnwise.record.roles.provider_batches import ProviderBatchRole
from turnwise.record.runs.history_queries import Histories
from turnwise.record.runs.queries import Documents, KnownRuns
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.tenants.tenants import KnownLimits
from turnwise.record.transaction.core import Core


class WorkerRole(
    Claims,
    Carrying,
    Replies,
    Receipts,
    AskParking,
    StillNeeded,
    Unclaimed,
    Reservations,
    Providers,
    ProviderLines,
    CollectedAsks,
    KnownLimits,
    Histories,
    Documents,
    KnownRuns,
):
    """Claims asks and answers them."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)

    @property
    def provider_batches(self) -> ProviderBatchRole:
        """Return the role for the batches of providers."""
        return ProviderBatchRole(self._core, EVERY_TENANT)
