"""Takes samples of the work of all tenants, between sweeps."""

from __future__ import annotations

from turnwise.base.ids import new_id
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.coordinator import CoordinatorRole

# The name of its lease, beside those of the queues.
_LEASE = "samples"


class SampleSweep:
    """One coordinator of an installation takes them at a time; another one does once that has fallen silent."""

    def __init__(self, record: CoordinatorRole, settings: ServiceSettings) -> None:
        self._record = record
        self._seconds = settings.sample_seconds
        self._retention = settings.sample_retention
        self._holder = new_id("smp")
        self._clock = record.clock
        self._next = self._clock.monotonic()

    def sweep(self) -> None:
        """Take a sample, if it is time and no other coordinator does; raises `DatabaseUnavailableError`."""
        now = self._clock.monotonic()
        if not self._seconds or now < self._next:
            return
        self._next = now + self._seconds
        if self._record.sweep_lease(_LEASE, self._holder, 2.5 * self._seconds) and self._record.take_sample(
            self._seconds
        ):
            self._record.forget_old_samples(self._retention)
