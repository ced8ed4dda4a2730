"""The maker of a move that may continue with the run itself."""

from __future__ import annotations

from typing import Protocol

from turnwise.record.transaction.run_transaction import RunTransaction


class Carrier(Protocol):
    """A worker that has answered, and is asked whether it answers the run's next ask as well."""

    @property
    def worker_id(self) -> str:
        """The worker that will hold the ask."""
        ...

    def takes(self, tx: RunTransaction, queue: str) -> bool:
        """Return whether the worker takes an ask for `queue`, which the transaction then writes as held by it."""
        ...
