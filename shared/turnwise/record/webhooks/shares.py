"""The shares of hosts and of tenants in the requests that a coordinator has under way."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy


class Shares:
    """Counts requests under way by their host and tenant; each may have so many at a time.

    A host is one server, whichever port is asked. A tenant may name any number of hosts.
    """

    def __init__(self, *, of_host: int, of_tenant: int) -> None:
        self._of_host, self._of_tenant = of_host, of_tenant
        self._hosts: Counter[str] = Counter()
        self._tenants: Counter[str] = Counter()

    @property
    def busy_hosts(self) -> list[str]:
        """Return the hosts that may have no more."""
        return [host for host, count in self._hosts.items() if count >= self._of_host]

    @property
    def busy_tenants(self) -> list[str]:
        """Return the tenants that may have no more."""
        return [tenant for tenant, count in self._tenants.items() if count >= self._of_tenant]

    def has_room(self, host: str, tenant: str) -> bool:
        """Return whether one more may begin."""
        return self._hosts[host] < self._of_host and self._tenants[tenant] < self._of_tenant

    def begin(self, host: str, tenant: str) -> None:
        """Count one that begins."""
        self._hosts[host] += 1
        self._tenants[tenant] += 1

    def end(self, host: str, tenant: str) -> None:
        """Count one that has ended no longer."""
        self._hosts -= Counter([host])  # which drops what is zero
        self._tenants -= Counter([tenant])

    def copy(self) -> Shares:
        """Return a copy, in which others can be counted."""
        return deepcopy(self)
