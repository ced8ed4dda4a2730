"""The role of a coordinator for budgets: it has them from its own (`CoordinatorRole.budgets`)."""

from __future__ import annotations

from turnwise.record.budgets.lifted_limits import LiftedLimits


class BudgetRole(LiftedLimits):
    """The budgets of all tenants and sessions, kept in step with the limits that are in force."""
