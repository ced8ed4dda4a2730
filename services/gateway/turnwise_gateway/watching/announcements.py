"""Tells the other processes which runs are watched here, so that they tell of those and of no others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import suppress

from turnwise.bus.base import Bus
from turnwise.bus.envelope import RunWatchNotice, TextWatchNotice, WatchNotice
from turnwise.errors import BrokerUnavailableError

logger = logging.getLogger(__name__)

# An announcement holds for so many seconds, and is repeated this often: two of them may get lost. A worker that was not
# there for the first one learns of the watch from the next.
_HOLDS = 7.0
_AGAIN = 2.0
# Seconds between two announcements at least; those who come meanwhile share the next one.
_PAUSE = 0.02
# Seconds that an announcement which someone waits for may take.
_AT_ONCE = 0.5
# Runs in one message.
_MOST = 1_000


class Announcer:
    """Announces the runs in `watched()` while there are any; belongs to one event loop.

    Of those that are in `read()` as well, the text is wanted; of those in `eager()`, that of every model.
    """

    def __init__(
        self,
        bus: Bus,
        listener: str,
        watched: Callable[[], Collection[str]],
        read: Callable[[], Collection[str]],
        eager: Callable[[], Collection[str]],
    ) -> None:
        self._bus = bus
        self._listener = listener
        self._watched = watched
        self._read = read
        self._eager = eager
        self._new: set[str] = set()
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._work(), name="turnwise-announcer")

    def add(self, run: str) -> None:
        """Announce the run soon; it has to be in `watched()` as well."""
        self._new.add(run)
        self._news.set()

    async def announce(self, run: str) -> None:
        """Announce the run now, before anything else is done; a broker that is away is waited for a moment only."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tell([run]), _AT_ONCE)

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
        read, eager = self._read(), self._eager()
        kinds: list[tuple[type[RunWatchNotice | WatchNotice | TextWatchNotice], list[str]]] = [
            (RunWatchNotice, [run for run in runs if run not in read]),
            (WatchNotice, [run for run in runs if run in read]),
            # As well, for processes of a version that does not know this one.
            (TextWatchNotice, [run for run in runs if run in eager]),
        ]
        notices = [kind(listener=self._listener, runs=meant, seconds=_HOLDS) for kind, meant in kinds if meant]
        try:
            for notice in notices:
                await asyncio.to_thread(self._bus.notify, notice)
        except BrokerUnavailableError as error:
            logger.debug("No one was told what is watched: %s", error, extra={"action": "watch_not_told"})
        except Exception:
            # The task has to live as long as the process.
            logger.exception("No one was told what is watched", extra={"action": "announcing_failed"})
