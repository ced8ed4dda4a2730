"""The limits of an installation, from its settings; apart, so that the settings load without what serves runs."""

from __future__ import annotations

from turnwise.processes.settings import ServiceSettings
from turnwise.record.budgets.budgets import ScopeLimits
from turnwise.serving.attempts.budget_gate import Spending
from turnwise.serving.attempts.provider_places import ServedProviders


def spending_of(settings: ServiceSettings, providers: ServedProviders | None = None) -> Spending:
    """Return the limits that the settings give to all runs together."""
    return Spending(
        limits=ScopeLimits(
            session=(settings.session_max_cost, settings.session_max_tokens),
            tenant_day=(settings.tenant_day_max_cost, settings.tenant_day_max_tokens),
            tenant_month=(settings.tenant_month_max_cost, settings.tenant_month_max_tokens),
        ),
        providers=providers,
        on_limit=settings.on_limit,
        on_outage=settings.on_outage,
    )
