"""Waking those who watch runs: one subscription to the bus for all watchers of a process."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from turnwise.bus.base import Bus, Subscription
from turnwise.bus.envelope import Notice, RunNotice, TextNotice, TokenNotice
from turnwise_gateway.watching.announcements import Announcer

# A watcher looks into the record this often (seconds) even if nothing woke it, because notices may get lost.
POLL_SECONDS = 3.0
# Pieces of text kept for a watcher that is slower than the model; the oldest go first.
_DELTAS = 2_000
# Seconds within which someone who announced to read a run's text has to come.
_EXPECTED = 5.0


class Watcher:
    """One who watches a run."""

    def __init__(self) -> None:
        self.deltas: deque[TokenNotice] = deque(maxlen=_DELTAS)
        self.changed = asyncio.Event()
        # True while the record may have something new, and the time from which on that is assumed.
        self._news = True
        self._look_at = 0.0

    async def wait(self, timeout: float) -> None:
        """Return when the run may have changed: something was told, or `timeout` seconds went by."""
        try:
            await asyncio.wait_for(self.changed.wait(), timeout)
        except TimeoutError:
            return
        self.changed.clear()

    def hear(self, notice: RunNotice | TokenNotice) -> None:
        """Take in what was told of the run."""
        if isinstance(notice, TokenNotice):
            self.deltas.append(notice)
        else:
            self._news = True
        self.changed.set()

    def look_again(self) -> None:
        """Note that the record has more than was read."""
        self._news = True

    def must_look(self, every: float) -> bool:
        """Return whether to look into the record now: it has changed, or no one has looked for `every` seconds.

        Pieces of answers come many times a second, and are in no record.
        """
        now = time.monotonic()
        if not self._news and now < self._look_at:
            return False
        self._news, self._look_at = False, now + every
        return True

    def take_deltas(self) -> list[TokenNotice]:
        """Return what came since the last time."""
        taken = list(self.deltas)
        self.deltas.clear()
        return taken


class Watch:
    """The watchers of this process by run; belongs to one event loop, from `open` to `close`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.poll_seconds = POLL_SECONDS
        self._watchers: dict[str, set[Watcher]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._subscription: Subscription | None = None
        # How many of a run's watchers want its text, and how many of them that of every model.
        self._readers: Counter[str] = Counter()
        self._eager: Counter[str] = Counter()
        self._announcer: Announcer | None = None
        # Readers of text who were announced and have not come yet.
        self._expected: dict[str, tuple[ExitStack, Watcher]] = {}
        self.stopping = False

    def open(self) -> None:
        """Begin to listen; called on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._subscription = self._bus.listen(self._hear)
        address = self._subscription.address
        self._announcer = Announcer(self._bus, address, self._watchers.keys, self._readers.keys, self._eager.keys)

    @property
    def address(self) -> str:
        """Return where workers send text to; empty while this is not open."""
        return self._subscription.address if self._subscription is not None else ""

    def stop(self) -> None:
        """Send all watchers home; called on the event loop. Their clients come back, to a process that stays."""
        self.stopping = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.changed.set()

    async def close(self) -> None:
        """Stop listening."""
        self.stop()
        if self._announcer is not None:
            await self._announcer.close()
        if self._subscription is not None:
            await asyncio.to_thread(self._subscription.close)

    @contextmanager
    def of(self, run_id: str, *, text: bool = False, eager: bool = False) -> Iterator[Watcher]:
        """A watcher of the run; what is told after this begins wakes it.

        With `text` it gets answers as they grow, if the model's settings say that it streams; with `eager` also if they
        leave that open.
        """
        watcher = Watcher()
        watchers = self._watchers.setdefault(run_id, set())
        watchers.add(watcher)
        if text:
            self._readers[run_id] += 1
        if text and eager:
            self._eager[run_id] += 1
        if self._announcer is not None and self._is_new(run_id, watchers, text, eager):
            self._announcer.add(run_id)
        if text:
            watcher.deltas.extend(self._given_up(run_id))
        try:
            yield watcher
        finally:
            if text:
                self._unread(run_id, eager)
            watchers = self._watchers[run_id]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[run_id]

    async def expect(self, run_id: str) -> None:
        """Announce a run whose text someone will read soon, and keep it for him; called on the event loop."""
        if self._loop is None or self._announcer is None or self.stopping:
            return
        reader = ExitStack()
        self._expected[run_id] = (reader, reader.enter_context(self.of(run_id, text=True, eager=True)))
        self._loop.call_later(_EXPECTED, self._given_up, run_id)
        await self._announcer.announce(run_id)

    def _given_up(self, run_id: str) -> tuple[TokenNotice, ...]:
        """Return what was kept for the expected reader of a run, if no one has come for it yet."""
        reader, watcher = self._expected.pop(run_id, (None, None))
        if reader is None or watcher is None:
            return ()
        reader.close()
        return tuple(watcher.take_deltas())

    def _unread(self, run_id: str, eager: bool) -> None:
        self._readers -= Counter([run_id])
        if eager:
            self._eager -= Counter([run_id])

    def _is_new(self, run_id: str, watchers: set[Watcher], text: bool, eager: bool) -> bool:
        """Return whether the watcher who came last wants more than the others."""
        first = len(watchers) == 1 or (text and self._readers[run_id] == 1)
        return first or (text and eager and self._eager[run_id] == 1)

    def _hear(self, notice: Notice) -> None:
        """Called on the bus's thread; processes of earlier versions tell of runs that no one watches here, too."""
        pieces = notice.pieces if isinstance(notice, TextNotice) else [notice]
        meant = [piece for piece in pieces if isinstance(piece, (RunNotice, TokenNotice))]
        told = [piece for piece in meant if piece.run in self._watchers]
        loop = self._loop
        if told and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._deliver, told)

    def _deliver(self, told: list[RunNotice | TokenNotice]) -> None:
        for notice in told:
            for watcher in self._watchers.get(notice.run, ()):
                watcher.hear(notice)
