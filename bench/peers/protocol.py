"""The words between the benchmark and a contender, a line of JSON each, over the contender's standard streams.

A contender says once that it is ready: its settings as it found them, and the processes whose time counts. For each
order, so many conversations of so many turns, it then says how long they took. Asked what it stored, it says how many
bytes a turn of the last order left. It ends when its input does. Only the standard library is imported: contenders run
in environments of their own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import IO, Any

READY, PLAYED, STORED = "ready ", "played ", "stored "
# Asked apart from an order, since counting bytes takes processor time that no turn takes.
ASK_STORED = json.dumps({"stored": True}) + "\n"


def answer(
    play: Callable[[int, int], Mapping[str, Any]],
    *,
    settings: Mapping[str, str],
    packages: Sequence[str] = (),
    pids: Sequence[int] = (),
    stored: Callable[[], float | None] = lambda: None,
) -> None:
    """Play what is ordered until there is no more.

    `play` takes the turns and the number of conversations; it returns the `seconds`. `stored` returns the bytes a turn
    of what was played last, None if nothing is kept. The processes that count are this one unless others are given.
    """
    said = _own_output()
    versions = {name: version(name) for name in packages}
    _say(said, READY, {"settings": dict(settings), "versions": versions, "pids": list(pids) or [os.getpid()]})
    for line in sys.stdin:
        order = json.loads(line)
        if "stored" in order:
            _say(said, STORED, {"bytes_per_turn": stored()})
            continue
        _say(said, PLAYED, play(int(order["turns"]), int(order["conversations"])))


def order(turns: int, conversations: int) -> str:
    """Return the line that orders this."""
    return json.dumps({"turns": turns, "conversations": conversations}) + "\n"


def heard(line: str, wanted: str) -> dict[str, Any] | None:
    """Return what was said after the word `wanted`, None for any other line."""
    if not line.startswith(wanted):
        return None
    told: dict[str, Any] = json.loads(line.removeprefix(wanted))
    return told


def _say(said: IO[str], word: str, told: Mapping[str, Any]) -> None:
    said.write(word + json.dumps(told) + "\n")
    said.flush()


def _own_output() -> IO[str]:
    """Take standard output for these words alone: what a library prints goes where errors go."""
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return said
