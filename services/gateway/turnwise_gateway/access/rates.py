"""The request rate of a tenant: counted in a sliding minute, by all of its callers together.

Each gateway process counts by itself, unless TURNWISE_RATE_STORAGE_URL names a Redis that they share. If that is away,
no one is refused for want of it: a limit of requests guards the service, and budgets are guarded elsewhere.
"""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.errors import QuotaExceededError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.tenants.caller import Caller
from turnwise_gateway.access.authentication import CALLER, is_open
from turnwise_gateway.http.problem import refusal
from turnwise_gateway.http.root_path import inner_path

if TYPE_CHECKING:
    from limits.aio.strategies import SlidingWindowCounterRateLimiter
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_MINUTE = 60


class Rates:
    """ASGI middleware: 429 with `Retry-After` for a tenant that asks too often; answers tell what is left.

    The headers are those of draft-ietf-httpapi-ratelimit-headers-10.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._per_minute = settings.tenant_requests_per_minute
        self._storage_url = settings.rate_storage_url
        self._limiter: SlidingWindowCounterRateLimiter | None = None
        self._redis: Redis | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        caller = scope.get(CALLER)
        if not isinstance(caller, Caller) or is_open(inner_path(scope)):
            await self._app(scope, receive, send)
            return
        own = caller.limits.requests_per_minute
        most = self._per_minute if own is None else own
        if not most:
            await self._app(scope, receive, send)
            return
        asked, left, seconds = await self._ask(caller.tenant, most)

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["RateLimit-Policy"] = f'"requests";q={most};w={_MINUTE}'
                headers["RateLimit"] = f'"requests";r={left};t={seconds}'
            await send(message)

        if asked:
            await self._app(scope, receive, tell)
        else:
            await refusal(_too_often(caller.tenant, most, seconds))(scope, receive, tell)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            if self._redis is not None:
                await self._redis.aclose()

    async def _ask(self, tenant: str, most: int) -> tuple[bool, int, int]:
        """Return whether the tenant may ask, how often more, and the seconds until its present minute is over."""
        from limits import RateLimitItemPerMinute
        from limits.errors import StorageError

        limiter, item = self._limiter or self._open(), RateLimitItemPerMinute(most, namespace="turnwise")
        try:
            asked = await limiter.hit(item, tenant)
            reset_at, left = await limiter.get_window_stats(item, tenant)
        except StorageError as error:
            logger.warning("Requests are not counted: %s", error, extra={"action": "requests_not_counted"})
            return True, most, _MINUTE
        return asked, left, max(1, math.ceil(reset_at - time.time()))

    def _open(self) -> SlidingWindowCounterRateLimiter:
        # Most installations have no such limit, and the library takes a moment to load.
        from limits.aio.storage import MemoryStorage, RedisStorage
        from limits.aio.strategies import SlidingWindowCounterRateLimiter

        storage: MemoryStorage | RedisStorage = MemoryStorage(wrap_exceptions=True)
        if self._storage_url is not None:
            from redis.asyncio import Redis

            url = self._storage_url.get_secret_value()
            self._redis = Redis.from_url(url, socket_timeout=1.0, socket_connect_timeout=1.0)
            pool = self._redis.connection_pool
            storage = RedisStorage(
                f"async+{url}",
                wrap_exceptions=True,
                implementation="redispy",
                connection_pool=pool,  # type: ignore[arg-type]  # it is handed on as it is
            )
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        return self._limiter


def _too_often(tenant: str, most: int, seconds: int) -> QuotaExceededError:
    return QuotaExceededError(
        f"the tenant {tenant!r} may ask {most} times in a minute, and has; try again in {seconds} s",
        code="too_many_requests",
        retry_after=seconds,
    )
