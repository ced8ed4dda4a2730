"""Keeps budgets in step with limits that are lifted or set, between sweeps."""

from __future__ import annotations

from turnwise.processes.settings import ServiceSettings
from turnwise.processes.spending import spending_of
from turnwise.record.roles.coordinator import CoordinatorRole

_REST = 60.0


class BudgetSweep:
    """Looks every minute; each coordinator does, because done twice it changes nothing more."""

    def __init__(self, record: CoordinatorRole, settings: ServiceSettings) -> None:
        self._budgets = record.budgets
        self._limits = spending_of(settings).limits
        self._clock = record.clock
        self._next = self._clock.monotonic()

    def sweep(self) -> None:
        """Note which limits are lifted, count anew under those that were set, and let runs look again that wait for
        such a budget, if it is time.

        Raises `DatabaseUnavailableError`.
        """
        now = self._clock.monotonic()
        if now < self._next:
            return
        self._next = now + _REST
        self._budgets.note_lifted_limits(self._limits)
        self._budgets.recount_new_limits()
        self._budgets.look_again()
