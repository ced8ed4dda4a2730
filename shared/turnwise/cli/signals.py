"""Waiting for the word to stop."""

from __future__ import annotations

import signal
import threading
from types import FrameType


def wait_for_stop() -> None:
    """Return at the first SIGINT or SIGTERM; a second one then has its usual effect and ends the process."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stop.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
