"""The record of runs: whoever opens it makes of it the roles that its services need."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.record.database.database import Database
from turnwise.record.tenants.reach import OneTenant, Reach
from turnwise.record.transaction import journal
from turnwise.record.transaction.core import AfterCommit, Core

if TYPE_CHECKING:
    from turnwise.record.roles.administrator import AdministratorRole, OperatorRole
    from turnwise.record.roles.archivist import ArchivistRole
    from turnwise.record.roles.authentication import AuthenticationRole
    from turnwise.record.roles.coordinator import CoordinatorRole
    from turnwise.record.roles.inspector import InspectorRole
    from turnwise.record.roles.monitor import MonitorRole
    from turnwise.record.roles.process import ProcessRole
    from turnwise.record.roles.tenant import TenantRole
    from turnwise.record.roles.worker import WorkerRole
    from turnwise.record.tenants.caller import Deed
    from turnwise.record.transaction.idempotency import Once


class Store:
    """An open record. It has no query of its own: what can be done to the record, its roles say.

    A role is loaded when it is first asked for, since no process has all of them, and their statements take memory.

    Safe to share between threads, and so are its roles, not across a fork. Every method of a role raises
    `DatabaseUnavailableError` when the database does not answer, and then has changed nothing, or (a lost answer to the
    commit) everything. See `Core` for the arguments.
    """

    def __init__(
        self,
        database: Database,
        *,
        lease_seconds: float = 5.0,
        after_commit: AfterCommit = journal.tell,
        clock: Clock = SYSTEM_CLOCK,
        tenant_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.database = database
        self.clock = clock
        self.core = Core(
            database, lease_seconds=lease_seconds, after_commit=after_commit, clock=clock, tenant_weights=tenant_weights
        )

    @cached_property
    def worker(self) -> WorkerRole:
        """Asks of all tenants, under the claims of a worker."""
        from turnwise.record.roles.worker import WorkerRole

        return WorkerRole(self.core)

    @cached_property
    def coordinator(self) -> CoordinatorRole:
        """Moves, sweeps and what else coordinators do for all tenants."""
        from turnwise.record.roles.coordinator import CoordinatorRole

        return CoordinatorRole(self.core)

    @cached_property
    def process(self) -> ProcessRole:
        """The registration and the heartbeat of a process."""
        from turnwise.record.roles.process import ProcessRole

        return ProcessRole(self.core)

    @cached_property
    def authentication(self) -> AuthenticationRole:
        """Keys and tenants, before it is known who calls."""
        from turnwise.record.roles.authentication import AuthenticationRole

        return AuthenticationRole(self.core)

    @cached_property
    def monitor(self) -> MonitorRole:
        """Numbers for gauges and for the doctor."""
        from turnwise.record.roles.monitor import MonitorRole

        return MonitorRole(self.core)

    @cached_property
    def archivist(self) -> ArchivistRole:
        """Whole runs, to be read out or deleted."""
        from turnwise.record.roles.archivist import ArchivistRole

        return ArchivistRole(self.core)

    @cached_property
    def inspector(self) -> InspectorRole:
        """Everything on record, for tests and benchmarks."""
        from turnwise.record.roles.inspector import InspectorRole

        return InspectorRole(self.core)

    def tenant(
        self,
        name: str,
        *,
        max_unfinished_runs: int | None = None,
        deed: Deed | None = None,
        once: Once | None = None,
    ) -> TenantRole:
        """The record as the tenant has it; raises `InvalidRequestError` for a name that no tenant can have.

        See `TenantPart` for the limit, and `ChangingPart` for `deed` and `once`.
        """
        from turnwise.record.roles.tenant import TenantRole

        return TenantRole(self.core, OneTenant(name), max_unfinished_runs=max_unfinished_runs, deed=deed, once=once)

    def administrator(self, reach: Reach, *, deed: Deed | None = None, once: Once | None = None) -> AdministratorRole:
        """The record as an administrator of the tenants within `reach` has it."""
        from turnwise.record.roles.administrator import AdministratorRole

        return AdministratorRole(self.core, reach, deed=deed, once=once)

    def operator(self, *, deed: Deed | None = None, once: Once | None = None) -> OperatorRole:
        """The record as an operator of the installation has it."""
        from turnwise.record.roles.administrator import OperatorRole

        return OperatorRole(self.core, deed=deed, once=once)

    def check_schema(self) -> None:
        """Raise `DatabaseUnavailableError` or `SchemaVersionError` unless the database can be worked with."""
        self.database.check_schema()

    def call_after_commit(self, after_commit: AfterCommit) -> None:
        """Have this called after each commit that wrote events, in place of what was; see `Core`."""
        self.core.after_commit = after_commit
