"""The role of a tenant: its runs and sessions, and nothing of another's."""

from __future__ import annotations

from turnwise.record.asks.fleet import Queues, QueueServers
from turnwise.record.asks.parking import ParkedAsks
from turnwise.record.budgets.provider_states import ProviderStates
from turnwise.record.budgets.usage import OwnUsage, Spenders
from turnwise.record.past.forking import Forks
from turnwise.record.past.retrying import Retries
from turnwise.record.roles.batches import BatchRole
from turnwise.record.roles.schedules import ScheduleRole
from turnwise.record.roles.webhooks import WebhookRole
from turnwise.record.runs.event_times import RunTimes
from turnwise.record.runs.inbox import Inbox
from turnwise.record.runs.limits import RunLimits
from turnwise.record.runs.queries import Documents, RunContents, RunLists, RunLookup
from turnwise.record.runs.sessions import Sessions
from turnwise.record.runs.wait_facts import Situations
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.upkeep.series import OwnSeries


class TenantRole(
    Forks,
    Retries,
    RunLimits,
    Sessions,
    ParkedAsks,
    Inbox,
    OwnUsage,
    OwnSeries,
    Spenders,
    ProviderStates,
    RunLookup,
    RunLists,
    RunContents,
    Documents,
    Situations,
    RunTimes,
    Queues,
    QueueServers,
):
    """The record as one tenant has it: whatever is another's is not there."""

    @property
    def batches(self) -> BatchRole:
        """Return the role for the tenant's batches, on the same behalf."""
        return BatchRole(self._core, OneTenant(self._tenant), deed=self._deed, once=self._once)

    @property
    def schedules(self) -> ScheduleRole:
        """Return the role for the tenant's schedules, on the same behalf and with the same limit of runs."""
        return ScheduleRole(
            self._core,
            OneTenant(self._tenant),
            max_unfinished_runs=self._max_unfinished_runs,
            deed=self._deed,
            once=self._once,
        )

    @property
    def webhooks(self) -> WebhookRole:
        """Return the role for the tenant's webhooks, on the same behalf."""
        return WebhookRole(self._core, OneTenant(self._tenant), deed=self._deed, once=self._once)
