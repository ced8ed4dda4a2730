"""Look-ups of the hosts that webhooks name, beside the threads that serve requests.

The system's resolver has no time limit, and a tenant chooses the name server that it asks. So a look-up has a thread of
its own, of which there are few, and the request waits for it without one. The thread of a look-up that was given up on
is taken until the resolver returns, so a tenant may have half of them at most.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from turnwise.errors import InvalidWebhookError
from turnwise.serving.webhooks.addresses import AddressRules

_THREADS = 8
_SECONDS = 5.0
# Until a request that found no thread looks again.
_PAUSE = 0.05


class HostLookUps:
    """Checks URLs on at most `threads` threads, half of them for one tenant, each URL within `seconds`."""

    def __init__(self, *, threads: int = _THREADS, seconds: float = _SECONDS) -> None:
        self._threads = threads
        self._share = max(threads // 2, 1)
        self._seconds = seconds
        # Threads by the tenants that have them.
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    async def origin(self, rules: AddressRules, url: str, tenant: str) -> str:
        """Return the origin of a URL that a webhook of the tenant may have now.

        Raises what `AddressRules.check` raises, and `InvalidWebhookError` if that takes too long.
        """
        host = rules.check_form(url)[1]
        try:
            async with asyncio.timeout(self._seconds):
                while not self._take(tenant):
                    await asyncio.sleep(_PAUSE)
                return await asyncio.wrap_future(self._begin(tenant, partial(rules.check, url)))
        except TimeoutError:
            raise InvalidWebhookError(
                f"the host {host!r} of the webhook could not be looked up within {self._seconds:g} s; check its name "
                "server, or try again later"
            ) from None

    def _begin(self, tenant: str, check: Callable[[], str]) -> Future[str]:
        """Begin a check on the thread that was taken."""
        future: Future[str] = Future()
        future.set_running_or_notify_cancel()  # whoever gives up on it does not end it
        # A daemon: no resolver keeps the process from its end.
        thread = threading.Thread(
            target=self._work, args=(tenant, check, future), name="turnwise-host-look-up", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the process may have no further thread
            self._give_back(tenant)
            raise
        return future

    def _work(self, tenant: str, check: Callable[[], str], future: Future[str]) -> None:
        try:
            origin = check()
        except Exception as error:  # noqa: BLE001 - it is the request's
            tell = partial(future.set_exception, error)
        else:
            tell = partial(future.set_result, origin)
        # Before the request continues, which may have another URL.
        self._give_back(tenant)
        tell()

    def _take(self, tenant: str) -> bool:
        """Take a thread for the tenant; False if none is left, or its share is taken."""
        with self._lock:
            if self._taken.total() >= self._threads or self._taken[tenant] >= self._share:
                return False
            self._taken[tenant] += 1
            return True

    def _give_back(self, tenant: str) -> None:
        with self._lock:
            self._taken[tenant] -= 1
            if not self._taken[tenant]:
                del self._taken[tenant]
