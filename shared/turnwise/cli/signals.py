"""The word to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from turnwise.base.process_end import StopRequested

_STOP = (signal.SIGINT, signal.SIGTERM)


def wait_for_stop() -> None:
    """Return at the first SIGINT or SIGTERM; a second one then has its usual effect and ends the process."""
    with StopSignals() as stop:
        stop.hold()
        stop.wait()


class StopSignals:
    """SIGINT and SIGTERM of a process that opens a server, within the block.

    The first one raises `StopRequested`, which ends the process with 0 after everything open has been closed. While it
    is held back, it does not: raised in the middle of a start, it would leave open what no one knows of yet. A second
    one has its usual effect, so that it can cut a drain short.
    """

    def __init__(self) -> None:
        self._told = threading.Event()
        self._held = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _STOP:
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back()

    def hold(self) -> None:
        """Hold a signal back from now on."""
        self._held = True

    def let_go(self) -> None:
        """Raise `StopRequested` if a signal was held back, and from now on at once."""
        self._held = False
        if self._told.is_set():
            raise StopRequested(0)

    def wait(self) -> None:
        """Return at the first signal; at once if it was held back."""
        self._told.wait()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._told.set()
        self._put_back()
        if not self._held:
            raise StopRequested(0)

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def exit_when_stopped() -> Iterator[None]:
    """Within the block SIGINT and SIGTERM end the process with 0, after everything open has been closed.

    uvicorn ends its requests first and then raises the signal again, which would otherwise kill the process.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise StopRequested(0)

    before = {number: signal.signal(number, on_signal) for number in _STOP}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
