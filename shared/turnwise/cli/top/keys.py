"""Keys of a terminal, one at a time, without waiting for a line."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

# Terminals send these for keys that are no characters; the second form is that of the application mode.
_SEQUENCES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1bOB": "down",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down", b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home",
    b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end",
    b"\r": "enter", b"\n": "enter", b"\x7f": "backspace", b"\x08": "backspace", b"\x1b": "escape",
}  # fmt: skip
_INTRODUCERS = (b"\x1b[", b"\x1bO")
_LONGEST = max(map(len, _SEQUENCES))
_MOST = 1024


@contextmanager
def keys_at_once(terminal: int) -> Iterator[None]:
    """Have the terminal hand on each key as it is pressed, and show none; afterwards it is as it was."""
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def wait_for_input(seconds: float, *files: int) -> list[int]:
    """Return the files that have something to read, none if that took longer than `seconds`."""
    return select.select(files, [], [], seconds)[0]


def read_keys(terminal: int) -> list[str]:
    """Return the keys that were pressed: characters, and names such as "up". "end of input" if there are no more."""
    data = os.read(terminal, _MOST)
    return list(_keys(data)) if data else ["end of input"]


def _keys(data: bytes) -> Iterator[str]:
    while data:
        size = next((size for size in range(_LONGEST, 0, -1) if data[:size] in _SEQUENCES), 0)
        if size <= 1 and data[:2] in _INTRODUCERS:
            return  # the sequence of a key that does nothing here; what follows it is part of it
        if size:
            yield _SEQUENCES[data[:size]]
        else:
            size = _length(data[0])
            yield data[:size].decode(errors="replace")
        data = data[size:]


def _length(first: int) -> int:
    """Return the number of bytes of a character in UTF-8."""
    return 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1
