"""The word to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOP = (signal.SIGINT, signal.SIGTERM)


def wait_for_stop() -> None:
    """Return at the first SIGINT or SIGTERM; a second one then has its usual effect and ends the process."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in _STOP}
    try:
        stop.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def exit_when_stopped() -> Iterator[None]:
    """Within the block SIGINT and SIGTERM end the process with 0, after everything open has been closed.

    uvicorn ends its requests first and then raises the signal again, which would otherwise kill the process.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, on_signal) for number in _STOP}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
