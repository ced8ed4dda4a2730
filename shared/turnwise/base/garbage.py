"""Settings of Python's garbage collector: while a process loads, and for one that serves for weeks."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds between two full collections, each of which takes about 0.3 ms for a thousand objects that are not set apart.
_EVERY = 30.0


@contextmanager
def collections_paused() -> Iterator[None]:
    """Collect nothing until the end of the `with` block, for short work that leaves little garbage.

    A service that loads makes 200,000 objects, all of which it keeps: looking through them again and again takes a
    sixth of the processor time of its start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def keep_memory_tidy(every: float = _EVERY) -> None:
    """Set apart all that this process has loaded, and look through the rest every so many seconds; to be called once
    it can work, in a process of its own: what is unused later of all that was there is never found.

    Python looks through all objects only after their number has grown by a quarter (the condition of a full
    collection: `gc` in the standard library's reference). Modules and models are some 200,000 of them, so 50,000 could
    lie about unused first: what errors hold together in an outage, and lost connections with 128 KB of buffers each,
    which count as few.
    """
    # Not looked through before: of 250,000 objects of a gateway that has just loaded 1,600 are garbage.
    gc.freeze()
    # What a full collection leaves is what the next one's condition is counted from.
    gc.collect()
    threading.Thread(target=_collect, args=(every,), name="turnwise-garbage", daemon=True).start()


def _collect(every: float) -> None:
    never = threading.Event()
    while not never.wait(every):
        gc.collect()
