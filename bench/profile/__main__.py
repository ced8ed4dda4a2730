"""`python -m bench.profile`: statements, commits, messages and CPU of a turn, by part.

Counts do not depend on the machine; CPU does. What no turn causes, such as heartbeats and sweeps, is not counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.profile import distributed, embedded
from bench.profile.turn import Turn


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("way", choices=["embedded", "distributed"])
    parser.add_argument("--turns", type=int, default=200, help="the length of the conversation that is measured")
    parser.add_argument("--moves", choices=["coordinator", "worker"], default="coordinator")
    given = parser.parse_args()
    print(_profile(given.way, given.turns, given.moves).table())


def _profile(way: str, turns: int, moves: str) -> Turn:
    if way == "embedded":
        return embedded.profile(turns, moves=moves)
    return distributed.profile(turns, moves=moves)


if __name__ == "__main__":
    main()
