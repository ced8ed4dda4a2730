"""Requests that stay open: whoever sent them is asked again, every two seconds, whether he may still have the answer.

A stream that was let in once would otherwise outlive the key, the token or the scope that it was let in with. All
streams of one key are asked about together, and those of a process share the answers that its other requests get.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fastapi import Request

from turnwise.errors import EnvironmentFault, UnauthorizedError
from turnwise.record.tenants.caller import Caller, Scope
from turnwise_gateway.access.authentication import TOKEN
from turnwise_gateway.access.identity import Identity
from turnwise_gateway.access.scopes import caller_of
from turnwise_gateway.watching.watch import Watcher

logger = logging.getLogger(__name__)

# Seconds between two looks. With the time of a look itself, a stream ends well within 5 s.
LOOK_SECONDS = 2.0


@dataclass(eq=False, slots=True)
class Admitted:
    """A request that stays open; `ended` once its caller may no longer have the answer."""

    caller: Caller
    scopes: tuple[Scope, ...]
    watcher: Watcher
    ended: bool = False

    def require(self) -> None:
        """Raise `UnauthorizedError` if the caller may no longer have the answer."""
        if self.ended:
            raise UnauthorizedError("the key or token was revoked, has expired, or has lost a scope meanwhile")

    def end(self) -> None:
        """Send the watcher home."""
        self.ended = True
        self.watcher.changed.set()


class Admission:
    """The open requests of this process by token; belongs to one event loop."""

    def __init__(self, identity: Identity | None, look_seconds: float = LOOK_SECONDS) -> None:
        self._identity = identity
        self._look_seconds = look_seconds
        self._open: dict[str, set[Admitted]] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def of(self, request: Request, watcher: Watcher, *scopes: Scope) -> Iterator[Admitted]:
        """A request that stays open and needs `scopes`, until the end of the `with` block."""
        admitted = Admitted(caller_of(request), scopes, watcher)
        token = request.scope.get(TOKEN)
        if self._identity is None or token is None:  # everybody may do everything
            yield admitted
            return
        self._open.setdefault(token, set()).add(admitted)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_again_and_again(self._identity))
        try:
            yield admitted
        finally:
            those = self._open[token]
            those.discard(admitted)
            if not those:
                del self._open[token]

    async def close(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look_again_and_again(self, identity: Identity) -> None:
        while self._open:
            await asyncio.sleep(self._look_seconds)
            await asyncio.gather(*(self._look(identity, token) for token in list(self._open)))

    async def _look(self, identity: Identity, token: str) -> None:
        """Ask about one token, and end the requests that it no longer lets in."""
        caller: Caller | None = None
        try:
            caller = await identity.caller(token, self._look_seconds)
        except UnauthorizedError as error:
            logger.info("Open streams end: %s", error, extra={"action": "stream_ended"})
        except EnvironmentFault as error:  # no one knows; without the database there is nothing to be told anyway
            logger.warning("An open stream was not looked at: %s", error, extra={"action": "stream_not_looked_at"})
            return
        except Exception:  # the other streams are still to be looked at, again and again
            logger.warning("An open stream was not looked at", extra={"action": "stream_not_looked_at"}, exc_info=True)
            return
        for admitted in list(self._open.get(token, ())):
            if (
                caller is None
                or caller.tenant != admitted.caller.tenant
                or not caller.scopes.issuperset(admitted.scopes)
            ):
                admitted.end()
