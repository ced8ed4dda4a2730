"""The role of a tenant for its schedules: it has them from its own (`TenantRole.schedules`)."""

from __future__ import annotations

from turnwise.record.schedules.schedules import Schedules


class ScheduleRole(Schedules):
    """The tenant's schedules: made, changed, paused, triggered, read and removed."""
