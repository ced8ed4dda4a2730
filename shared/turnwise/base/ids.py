"""Identifiers: time-ordered, unique, with a prefix that says what they name."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from struct import Struct

from turnwise.base.contextual import Bound

# Ids of sessions, which clients choose: letters, digits and a few signs, as they are a part of paths and queries, and
# never dots alone.
SESSION_ID = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
# Who makes the ids of this context instead; the simulator repeats a schedule id by id.
_source: ContextVar[Callable[[], str] | None] = ContextVar("turnwise_id_source", default=None)
_lock = threading.Lock()
_last_ms = 0
_counter = 0
# Random numbers not used yet: one system call serves many ids, and each call would hand the interpreter's lock over.
_random: list[int] = []
_CHUNK = Struct("512Q")
# The marks of a UUID version 7 in its upper and its lower 64 bits.
_VERSION, _VARIANT = 0x7 << 12, 0b10 << 62
# A child must not continue with the numbers of its parent.
os.register_at_fork(after_in_child=_random.clear)


def uuid7() -> str:
    """A UUID version 7 as 32 hex digits: 48 bits of Unix milliseconds, then a counter and randomness.

    Layout and the monotonic counter of 12 bits: RFC 9562, sections 5.7 and 6.2 (method 1). Two ids of one process
    always sort in the order in which they were made.
    """
    global _last_ms, _counter
    source = _source.get()
    if source is not None:
        return source()
    with _lock:
        now = time.time_ns() // 1_000_000
        if now > _last_ms:
            _last_ms, _counter = now, 0
        else:
            _counter += 1
            if _counter > 0xFFF:  # more than 4,096 in a millisecond, or a clock set back: borrow from the future
                _last_ms, _counter = _last_ms + 1, 0
        ms, count = _last_ms, _counter
        if not _random:
            _random.extend(_CHUNK.unpack(os.urandom(_CHUNK.size)))
        rest = _random.pop() >> 2  # 62 bits
    return f"{(ms << 16) | _VERSION | count:016x}{_VARIANT | rest:016x}"


def new_id(prefix: str) -> str:
    """A fresh id such as `run_0199...`; `prefix` names the kind of thing."""
    return f"{prefix}_{uuid7()}"


def ids_from(source: Callable[[], str]) -> Bound[Callable[[], str] | None]:
    """Let `source` make the 32 hex digits of every id in the block; they must be unique, and sort by age."""
    return Bound(_source, source)
