"""Tells workers which runs are watched here, so that they stream the text of those and of no others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from turnwise.bus.base import Bus
from turnwise.bus.envelope import WatchNotice
from turnwise.errors import BrokerUnavailableError

logger = logging.getLogger(__name__)

# An announcement holds for so many seconds, and is repeated this often: two of them may get lost. A worker that was not
# there for the first one learns of the watch from the next.
_HOLDS = 7.0
_AGAIN = 2.0
# Seconds between two announcements at least; those who come meanwhile share the next one.
_PAUSE = 0.02
# Runs in one message.
_MOST = 1_000


class Announcer:
    """Announces the runs in `watched()` while there are any; belongs to one event loop."""

    def __init__(self, bus: Bus, listener: str, watched: Callable[[], Collection[str]]) -> None:
        self._bus = bus
        self._listener = listener
        self._watched = watched
        self._new: set[str] = set()
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._work(), name="turnwise-announcer")

    def add(self, run: str) -> None:
        """Announce the run soon; it has to be in `watched()` as well."""
        self._new.add(run)
        self._news.set()

    async def close(self) -> None:
        """Announce nothing more; what was announced expires."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + _AGAIN
        while True:
            try:
                await asyncio.wait_for(self._news.wait(), max(0.0, due - loop.time()))
            except TimeoutError:
                due = loop.time() + _AGAIN
                self._new.update(self._watched())
            runs, self._new = sorted(self._new), set()
            self._news.clear()
            for start in range(0, len(runs), _MOST):
                await self._tell(runs[start : start + _MOST])
            await asyncio.sleep(_PAUSE)

    async def _tell(self, runs: list[str]) -> None:
        notice = WatchNotice(listener=self._listener, runs=runs, seconds=_HOLDS)
        try:
            await asyncio.to_thread(self._bus.notify, notice)
        except BrokerUnavailableError as error:
            logger.debug("Workers were not told what is watched: %s", error, extra={"action": "watch_not_told"})
        except Exception:
            # The task has to live as long as the process.
            logger.exception("Workers were not told what is watched", extra={"action": "announcing_failed"})
