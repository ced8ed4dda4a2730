"""Lines of the standard input, for whoever waits only until the work is cancelled that wants one.

Of a terminal nothing is read before a line is there, so a wait that is given up takes none from whoever reads next.
What else is read, such as a pipe, cannot be asked for a line, as `sys.stdin` keeps what it has read too early. So a
thread reads it, and a line that comes when its wait was given up is for the next one.
"""

from __future__ import annotations

import os
import selectors
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import TextIO, TypeVar

from turnwise.base.cancellation import Cancellation, Cause, current_cancellation
from turnwise.base.clock import SYSTEM_CLOCK

T = TypeVar("T")

# Seconds between two looks of a waiting main thread at Ctrl-C, which does not end its wait everywhere (Windows).
_LOOK = 0.5
_THREAD = "turnwise-terminal"


def next_line(stdin: TextIO) -> str:
    """Wait for a line and read it; raises `CallCancelledError` as soon as the current token is cancelled."""
    token = current_cancellation() or Cancellation()
    file = _file_of(stdin)
    if file is None:
        return stdin.readline()
    if os.name == "posix" and stdin.isatty():
        _await_line(file, token)
        return stdin.readline()
    reading = _given_up.pop(stdin, None) or _Reading(stdin)
    try:
        reading.wait(token)
    except BaseException:
        _given_up[stdin] = reading
        raise
    return reading.line.result()


def _file_of(stdin: TextIO) -> int | None:
    """The number of the file, None if it is none, such as a text in memory."""
    try:
        return stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _await_line(terminal: int, token: Cancellation) -> None:
    """Return once the terminal has a line, or its end; whoever types may change it until then."""
    woken, wake = os.pipe()
    try:
        with selectors.DefaultSelector() as selector, token.on_cancel(partial(os.write, wake, b"\0")):
            selector.register(terminal, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            selector.select()
    finally:
        os.close(woken)
        os.close(wake)
    token.check()


class _Reading:
    """A line that a thread is reading."""

    def __init__(self, stdin: TextIO) -> None:
        self.line: Future[str] = Future()
        SYSTEM_CLOCK.start(_THREAD, partial(_set, self.line, stdin.readline))

    def wait(self, token: Cancellation) -> None:
        """Return once it is there, or could not be read."""
        woken = threading.Event()
        self.line.add_done_callback(lambda _: woken.set())
        with token.on_cancel(woken.set):
            while not woken.wait(_LOOK):
                pass
        token.check()


# The lines, by input, whose waits were given up.
_given_up: dict[TextIO, _Reading] = {}


async def awaited(read: Callable[[], T]) -> T:
    """Await what waits for a line, on a thread; where the awaiting is cancelled, the waiting is, too."""
    import asyncio  # loaded only where something is asynchronous

    token = Cancellation(parent=current_cancellation())
    answer: Future[T] = Future()

    def read_under_token() -> T:
        with token.open():
            return read()

    SYSTEM_CLOCK.start(_THREAD, partial(copy_context().run, _set, answer, read_under_token))
    try:
        return await asyncio.wrap_future(answer)
    except asyncio.CancelledError:
        token.cancel(Cause.KILLED)
        raise


def _set(future: Future[T], call: Callable[[], T]) -> None:
    """Give the future what the call returns or raises."""
    try:
        value = call()
    except BaseException as error:  # noqa: BLE001 - raised where someone waits for it
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        if future.set_running_or_notify_cancel():
            future.set_result(value)


class Turns:
    """Those who want to ask, one after the other in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until all who came before have left; raises `CallCancelledError` as `next_line` does."""
        token = current_cancellation() or Cancellation()
        mine = threading.Event()
        with self._lock:
            self._line.append(mine)
            self._call_first()
        try:
            with token.on_cancel(mine.set):
                while not mine.wait(_LOOK):
                    pass
            token.check()
            yield
        finally:
            with self._lock:
                self._line.remove(mine)
                self._call_first()

    def _call_first(self) -> None:
        if self._line:
            self._line[0].set()
